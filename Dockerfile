# drlh serve in a container. Build: docker build -t drlh .   Run: see docs/serve.md.
FROM python:3.13-slim AS build
WORKDIR /build
# For the kernel that compares codes; without a compiler faiss does that, more slowly.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
      -c constraints.txt '.[serve,lite,postgres]'

FROM python:3.13-slim
COPY --from=build /venv /venv
# Weights of CNN features are converted once, into the cache.
ENV PATH=/venv/bin:$PATH DRLH_CACHE=/cache
RUN useradd --create-home drlh && mkdir /cache && chown drlh /cache
USER drlh
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz')"]
ENTRYPOINT ["drlh", "serve", "--host", "0.0.0.0"]
