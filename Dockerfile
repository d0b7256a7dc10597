# Two images: the default one has a shell, git and ripgrep for commands; `--target minimal`
# has the program alone, and offers no tool that needs a shell.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The tree comes without .git: --build-arg VERSION=..., COMMIT=... and DATE=... say what it is.
ARG VERSION
ARG COMMIT
ARG DATE
RUN CGO_ENABLED=0 go build -tags grpcnotrace -trimpath \
        -ldflags "-s -w ${VERSION:+-X main.version=$VERSION} -X main.commit=$COMMIT -X main.date=$DATE" -o /out/toolserver ./cmd/toolserver
RUN mkdir -p /out/data /out/tmp && chmod 1777 /out/tmp

# Run by nobody, with nothing beside the program but CA certificates.
FROM scratch AS minimal
LABEL io.modelcontextprotocol.server.name="io.github.toolserver/toolserver"
LABEL org.opencontainers.image.title="toolserver"
LABEL org.opencontainers.image.description="A governed set of tools for MCP clients"
LABEL org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/toolserver /usr/local/bin/toolserver
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/tmp /tmp
WORKDIR /data
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/toolserver"]
CMD ["serve", "--stdio", "/data"]

FROM debian:bookworm-slim
LABEL io.modelcontextprotocol.server.name="io.github.toolserver/toolserver"
LABEL org.opencontainers.image.title="toolserver"
LABEL org.opencontainers.image.description="A governed set of tools for MCP clients, with bash, git and ripgrep"
LABEL org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git poppler-utils ripgrep && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 65532 --create-home toolserver && install -d -o toolserver -g toolserver /data
COPY --from=build /out/toolserver /usr/local/bin/toolserver
WORKDIR /data
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/toolserver"]
CMD ["serve", "--stdio", "/data"]
