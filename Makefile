# What a developer types. README names run and test.
BIN := toolserver
HTTP ?= 127.0.0.1:8080
PARTS ?=
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
DATE := $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
# grpcnotrace leaves out pages of a debugging server that brings 4 MB with it.
BUILD := CGO_ENABLED=0 go build -tags grpcnotrace -trimpath -ldflags "-s -w -X main.commit=$(COMMIT) -X main.date=$(DATE)"

.PHONY: run build check test verify test-windows test-release bench soak release

# Build the server and serve the current directory to clients on this machine;
# make run HTTP=127.0.0.1:9000 does it elsewhere.
run: build
	./$(BIN) serve --http $(HTTP)

build:
	$(BUILD) -o $(BIN) ./cmd/toolserver

# Format, vet and unit tests: what to run before each commit.
check:
	./test/run check

# What a change most likely breaks, in ten minutes at most, installing what is missing.
test:
	./test/run core

# Everything else: race detector, fuzzing, all other end-to-end tests, all clients. Parts of it
# can run on machines of their own: make verify PARTS="race fuzz"; test/run parts names them.
verify:
	./test/run verify $(PARTS)

# The program for Windows, under wine, which is installed where it is missing.
test-windows:
	test/windows/run

# Measures the server beside its peers and, with BEFORE=commit, beside itself as
# it was then; docs/performance.md explains the table.
bench: build
	go test -run xx -bench . -benchmem ./domain/... ./server ./sandbox/... ./text/... ./tools/... ./upstream/... ./wire/...
	go run ./test/bench -write docs/performance.md $(if $(BEFORE),-before $(BEFORE))

# Five minutes of everything at once, against servers that must neither err nor
# grow.
soak: build
	go run ./test/soak -server ./$(BIN)

# All that a version is published as, in build/release/VERSION: make release VERSION=0.1.0
release:
	go run -C release . $(VERSION)

# A release made twice, and tried with the programs that read it.
test-release:
	go vet -C release .
	test/release/run
