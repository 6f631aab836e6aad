"""Verbs that answer: `drlh search` and `drlh serve`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drlh.cli.console import print_json, print_table, say
from drlh.cli.options import INDEX, DirOption, IndexOption, JsonOption

if TYPE_CHECKING:
    from drlh.index.base import Index
    from drlh.report.search_page import NamedPictures


def search(
    photos: Annotated[list[Path], typer.Argument(help="Image files to search with.")],
    index: IndexOption,
    model: Annotated[Path, typer.Option(help="The model that made the codes.")],
    k: Annotated[int, typer.Option("-k", help="How many neighbours.")] = 10,
    radius: Annotated[int | None, typer.Option(help="All images within this distance, instead of k.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with thumbnails to this file.")] = None,
    images: Annotated[
        str | None, typer.Option(help="The folder or named data set that was encoded, for the page's thumbnails.")
    ] = None,
    data_dir: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the nearest images of a photo.

    Example: drlh search holiday.jpg --index photos-index --model photos.model -k 10 --html hits.html --images photos/
    """
    from drlh.core.codes import to_hex
    from drlh.index.opening import open_index
    from drlh.model import Model

    pictures = None if html is None and images is None else _named_pictures(images, data_dir)
    with open_index(index) as place:
        encoder = Model.load(model)
        encoder.check_index(place)
        packed = encoder.encode(photos)
        nearest = zip(*place.search(packed, k), strict=True) if radius is None else place.search_radius(packed, radius)
        results: list[dict[str, Any]] = [
            {"photo": str(photo), "code": to_hex(code), "hits": described(place, *hits)}
            for photo, code, hits in zip(photos, packed, nearest, strict=True)
        ]
    if html is not None and pictures is not None:
        from drlh.core.files import write_text
        from drlh.report.search_page import search_page

        write_text(html, search_page(results, pictures))
    if as_json:
        print_json(results)
        return
    for result in results:
        rows = [[hit["rank"], hit["distance"], hit["name"], ", ".join(hit["labels"])] for hit in result["hits"]]
        print_table(["rank", "distance", "image", "labels"], rows, title=f"{result['photo']}  {result['code']}")
    if html is not None:
        print(f"\nThe page with pictures: {html}")


def described(index: "Index", distances: Any, ids: Any) -> list[dict[str, Any]]:
    """One query's hits with what people want to see of them."""
    hits = []
    for rank, (distance, number, detail) in enumerate(zip(distances, ids, index.describe(ids), strict=True), 1):
        name, labels = (str(number), ()) if detail is None else detail
        hits.append({"rank": rank, "id": int(number), "name": name, "labels": list(labels), "distance": int(distance)})
    return hits


def _named_pictures(images: str | None, directory: Path | None) -> "NamedPictures":
    """The page's pictures; a folder that is not there is refused before anything is searched."""
    from drlh.report.search_page import NamedPictures

    return NamedPictures(images, directory)


def serve(
    model: Annotated[Path, typer.Argument(help="The model that made the codes.")],
    index: IndexOption,
    data: Annotated[
        str | None, typer.Option("--data", help="The data set or folder that was encoded, for pictures of items.")
    ] = None,
    compare: Annotated[
        list[str] | None, typer.Option(help=f"Another model and its index, MODEL=INDEX; may be repeated. {INDEX}")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; the default serves this machine alone.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8000,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token that changes need; or set DRLH_TOKEN.")
    ] = None,
    pictures: Annotated[Path | None, typer.Option(help="Keep pictures of added items in this directory.")] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A host name that requests may be for, behind a proxy; may be repeated.")
    ] = None,
    rate: Annotated[float, typer.Option(min=0, help="Requests a second from one address; 0 for any number.")] = 50.0,
    max_megabytes: Annotated[float, typer.Option(min=0.001, help="The largest request.")] = 20.0,
    max_megapixels: Annotated[float, typer.Option(min=0.001, help="The largest picture.")] = 40.0,
    access_log: Annotated[bool, typer.Option("--access-log", help="Write a line for every request.")] = False,
) -> None:
    """Serve a model and its index over HTTP, with a page to search and to watch images walk.

    Example: drlh serve photos.model --index photos-index --data photos/
    """
    from drlh.serve.server import start

    start(
        model, index, data=data, compare=compare or [], host=host, port=port, token_file=token_file, pictures=pictures,
        allow_host=allow_host or [], rate=rate, max_megabytes=max_megabytes, max_megapixels=max_megapixels,
        access_log=access_log, tell=say,
    )  # fmt: skip
