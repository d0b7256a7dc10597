# Two images, which run as nobody:
#
#   docker build .                    Debian with bash, git and ripgrep, for all tools
#   docker build --target minimal .   the binary alone: no shell, so no bash and execute_command
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The tree comes without .git: --build-arg VERSION=..., COMMIT=... and DATE=... say what it is.
ARG VERSION
ARG COMMIT
ARG DATE
RUN CGO_ENABLED=0 go build -tags grpcnotrace -trimpath -ldflags "-s -w ${VERSION:+-X main.version=$VERSION} -X main.commit=$COMMIT -X main.date=$DATE" -o /out/toolserver ./cmd/toolserver
# docker run --user may name anybody, so the home directory is open.
RUN mkdir -p /out/data /out/tmp /out/home && chmod 1777 /out/tmp /out/home
RUN echo 'toolserver:x:65532:65532::/home/toolserver:/usr/sbin/nologin' >/out/passwd && echo 'toolserver:x:65532:' >/out/group

FROM scratch AS minimal
LABEL io.modelcontextprotocol.server.name="io.github.toolserver/toolserver"
LABEL org.opencontainers.image.title="toolserver"
LABEL org.opencontainers.image.description="A governed set of tools for MCP clients, without a shell"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/passwd /out/group /etc/
COPY --from=build /out/toolserver /usr/local/bin/toolserver
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/home /home/toolserver
COPY --from=build /out/tmp /tmp
ENV HOME=/home/toolserver
WORKDIR /data
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/toolserver"]
CMD ["serve", "--stdio", "/data"]

FROM debian:bookworm-slim
LABEL io.modelcontextprotocol.server.name="io.github.toolserver/toolserver"
LABEL org.opencontainers.image.title="toolserver"
LABEL org.opencontainers.image.description="A governed set of tools for MCP clients"
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git less patch poppler-utils procps ripgrep && rm -rf /var/lib/apt/lists/* && \
	groupadd -g 65532 toolserver && useradd -u 65532 -g 65532 -d /home/toolserver -M -s /usr/sbin/nologin toolserver
COPY --from=build /out/toolserver /usr/local/bin/toolserver
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/home /home/toolserver
ENV HOME=/home/toolserver
WORKDIR /data
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/toolserver"]
CMD ["serve", "--stdio", "/data"]
