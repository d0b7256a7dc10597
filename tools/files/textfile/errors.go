package textfile

import "fmt"

// UnknownCharsetError is a charset name that stands for nothing we can decode.
type UnknownCharsetError struct {
	Name    string
	Nearest string // closest known name, or "" when none is close
}

func (e *UnknownCharsetError) Error() string {
	if e.Nearest == "" {
		return fmt.Sprintf("encoding %q is not known; use an IANA name such as utf-8, utf-16, windows-1252 or shift_jis", e.Name)
	}
	return fmt.Sprintf("encoding %q is not known; did you mean %q?", e.Name, e.Nearest)
}

// BinaryError refuses a file with a NUL byte near its beginning.
type BinaryError struct {
	Offset int64  // of the NUL byte
	Likely string // a UTF-16 or UTF-32 charset that fits nevertheless, or ""
}

// Error is a predicate, so that a caller can put the file's name before it and
// the word "is" between: "a.bin is a binary file (...)".
func (e *BinaryError) Error() string {
	if e.Likely == "" {
		return fmt.Sprintf("a binary file (NUL byte at byte %d)", e.Offset)
	}
	return fmt.Sprintf("a binary file (NUL byte at byte %d) unless it is %s: call read_file with encoding=%q", e.Offset, e.Likely, e.Likely)
}

// DecodeError is a sequence of bytes that the charset does not allow.
type DecodeError struct {
	Charset string // the one that was used
	Offset  int64  // from the beginning of the file, in bytes
	Likely  string // a charset the bytes around Offset fit, or ""
}

// Error is a predicate, so that a caller can put the file's name before it and
// the word "is" between: "notes.txt is not valid utf-8 at byte 12; ...".
func (e *DecodeError) Error() string {
	if e.Likely == "" {
		return fmt.Sprintf("not valid %s at byte %d and looks like no other text encoding; it may be binary, otherwise call read_file with the right encoding", e.Charset, e.Offset)
	}
	return fmt.Sprintf("not valid %s at byte %d; it looks like %s: call read_file with encoding=%q", e.Charset, e.Offset, e.Likely, e.Likely)
}

// PastEndError says that a range begins after the last line.
type PastEndError struct {
	Offset int // the line that was asked for
	Total  int // how many lines there are
}

func (e *PastEndError) Error() string {
	return fmt.Sprintf("offset %d is past the end of the file, which has %d %s", e.Offset, e.Total, plural(e.Total, "line", "lines"))
}

// TooLargeError refuses to read a whole file of more than [MaxRead] bytes.
type TooLargeError struct{ Size int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the file has %d bytes, more than the %d that are read at once: call read_file with offset and limit", e.Size, MaxRead)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// undecodable reports bytes that cs does not allow. The sample is what the
// likely charset is guessed from.
func undecodable(cs Charset, offset int64, sample []byte) error {
	e := &DecodeError{Charset: cs.Name(), Offset: offset, Likely: Guess(sample)}
	if e.Likely == e.Charset {
		e.Likely = ""
	}
	return e
}
