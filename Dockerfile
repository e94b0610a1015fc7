# docker build -t quench . && docker run --rm quench doctor
FROM debian:12 AS build
RUN apt-get update -q && apt-get install -y -q --no-install-recommends ca-certificates python3 python3-pip python3-venv
WORKDIR /source
COPY . .
RUN ./dev package && mkdir /installed && tar -xzf build/packages/*.tar.gz -C /installed --strip-components 1

# numpy is for plugins in Python, yaml for files of the study; without them this image needs no Python.
FROM debian:12-slim
RUN apt-get update -q && apt-get install -y -q --no-install-recommends python3-numpy python3-yaml && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed /opt/quench
RUN ln -s /opt/quench/bin/quench /usr/local/bin/quench && useradd --create-home quench
USER quench
WORKDIR /home/quench
ENTRYPOINT ["quench"]
CMD ["--help"]
