// Ceiling answers every request with the same result, looking only at its id:
// what no MCP server that does anything can beat. It serves stdio, or HTTP on
// the address it is given, which it prints when it listens.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

const result = `,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"ceiling","version":"1"},` +
	`"content":[{"type":"text","text":"Echo: hello"}]}}`

func main() {
	if len(os.Args) < 2 {
		serveStdio()
		return
	}
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	log.Fatal(http.Serve(l, http.HandlerFunc(serveHTTP)))
}

func serveStdio() {
	in, out := bufio.NewReaderSize(os.Stdin, 64<<10), bufio.NewWriterSize(os.Stdout, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		if answer := answer(line); answer != nil {
			out.Write(append(answer, '\n'))
		}
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

func serveHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if answer := answer(body); answer != nil {
		w.Header().Set("Content-Type", "application/json")
		w.Write(answer)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// answer returns the answer to a message, or nil to a notification.
func answer(msg []byte) []byte {
	_, rest, ok := bytes.Cut(msg, []byte(`"id":`))
	end := bytes.IndexAny(rest, ",}")
	if !ok || end < 0 {
		return nil
	}
	return append(append([]byte(`{"jsonrpc":"2.0","id":`), rest[:end]...), result...)
}
