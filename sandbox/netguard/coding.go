package netguard

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Codings are the content codings that bodies are decoded from, as the value of Accept-Encoding.
const Codings = "gzip, deflate, br, zstd"

const (
	maxCodings = 4
	maxWindow  = 8 << 20 // of zstd, as RFC 9659 has it for the web
)

// CodingError says that a body is not in the coding that its header names.
type CodingError struct {
	Coding string
	Err    error
}

func (e *CodingError) Error() string { return fmt.Sprintf("the body is no %s: %v", e.Coding, e.Err) }

// Unwrap returns what was wrong with it.
func (e *CodingError) Unwrap() error { return e.Err }

// decode takes the content codings off a response, the last one first. What it does not know stays in the header.
func decode(res *http.Response) {
	names := strings.Split(strings.ToLower(strings.Join(res.Header.Values("Content-Encoding"), ",")), ",")
	if len(names) > maxCodings {
		return
	}
	for ; len(names) > 0; names = names[:len(names)-1] {
		name := strings.TrimPrefix(strings.TrimSpace(names[len(names)-1]), "x-")
		if name == "" || name == "identity" {
			continue
		}
		if !strings.Contains(Codings, name) {
			break
		}
		res.Body = &decoding{Closer: res.Body, coding: name, from: bufio.NewReader(res.Body)}
		res.ContentLength, res.Uncompressed = -1, true
		res.Header.Del("Content-Length")
	}
	if res.Header.Del("Content-Encoding"); len(names) > 0 {
		res.Header.Set("Content-Encoding", strings.Join(names, ","))
	}
}

// decoding is a body that is decoded while it is read.
type decoding struct {
	io.Closer
	coding string
	from   *bufio.Reader
	r      io.Reader // nil until something has come
}

func (d *decoding) Read(p []byte) (int, error) {
	if d.r == nil {
		start, err := d.from.Peek(2)
		if len(start) == 0 {
			return 0, err
		}
		if d.r, err = d.open(start); err != nil {
			return 0, &CodingError{d.coding, err}
		}
	}
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = &CodingError{d.coding, err}
	}
	return n, err
}

func (d *decoding) open(start []byte) (io.Reader, error) {
	switch d.coding {
	case "gzip":
		return gzip.NewReader(d.from)
	case "br":
		return brotli.NewReader(d.from), nil
	case "zstd":
		return zstd.NewReader(d.from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	}
	if len(start) == 2 && start[0]&15 == 8 && (int(start[0])<<8|int(start[1]))%31 == 0 {
		return zlib.NewReader(d.from)
	}
	return flate.NewReader(d.from), nil // what some sites take deflate for
}
