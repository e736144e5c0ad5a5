# docker build --tag tracehouse . && docker run --rm tracehouse
# Installs Tracehouse and runs the demo: synthetic files, an ingest and four queries.
FROM python:3.12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /tracehouse
COPY . .
RUN make .venv/installed && .venv/bin/pip install --no-cache-dir '.[plot,fetch]'
ENV PATH=/tracehouse/.venv/bin:$PATH
CMD ["make", "demo"]
