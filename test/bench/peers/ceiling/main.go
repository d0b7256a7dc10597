// Ceiling answers every request with the same result, looking only at its id:
// what no MCP server that does anything can beat. It serves stdio, or HTTP on
// the address it is given, which it prints when it listens.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
)

// result is what follows the id in each answer.
var result = []byte(`,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"ceiling","version":"1"},` +
	`"content":[{"type":"text","text":"Echo: hello"}]}}`)

func main() {
	file := flag.String("result", "", "`file` with what follows the id in each answer")
	flag.Parse()
	if *file != "" {
		var err error
		if result, err = os.ReadFile(*file); err != nil {
			log.Fatal(err)
		}
	}
	if flag.NArg() == 0 {
		serveStdio()
		return
	}
	l, err := net.Listen("tcp", flag.Arg(0))
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
		head := head(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil {
			return
		}
		if head != nil {
			out.Write(head)
			out.Write(result)
			out.WriteByte('\n')
		}
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

func serveHTTP(w http.ResponseWriter, r *http.Request) {
	start := make([]byte, 512)
	n, err := io.ReadFull(r.Body, start)
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return
	}
	if head := head(start[:n]); head != nil {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(result)))
		w.Write(head)
		w.Write(result)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// head returns the answer to a message up to the id, or nil to a notification.
// It needs no more of the message than its beginning.
func head(msg []byte) []byte {
	_, rest, ok := bytes.Cut(msg, []byte(`"id":`))
	end := bytes.IndexAny(rest, ",}")
	if !ok || end < 0 {
		return nil
	}
	return append([]byte(`{"jsonrpc":"2.0","id":`), rest[:end]...)
}
