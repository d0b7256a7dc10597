package audit

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// NewKey returns a key that signs checkpoints, and the one that verifies them.
func NewKey(name string) (private, public string, err error) {
	return note.GenerateKey(rand.Reader, name)
}

// PublicKey returns the key that verifies what another one signs.
func PublicKey(private string) (string, error) {
	private = strings.TrimSpace(private)
	signer, err := note.NewSigner(private)
	if err != nil {
		return "", err
	}
	parts := strings.SplitN(private, "+", 5) // PRIVATE+KEY+name+hash+seed
	seed, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return "", errors.New("it is no Ed25519 key")
	}
	return note.NewEd25519VerifierKey(signer.Name(), ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey))
}

// Verified is what the lines of a record prove.
type Verified struct {
	Entries     int    `json:"entries"`
	First, Last int64  `json:"-"`
	Head        string `json:"head"`               // hash of the last line
	Signed      int64  `json:"signed"`             // the last entry that a checkpoint is about; 0 if nothing was verified
	Ended       bool   `json:"ended"`              // the last entry says that the server has ended
	Interrupted int    `json:"interrupted"`        // entries that a crash has cut off
	Dropped     int    `json:"dropped"`            // entries that could not be written
	SignedAt    string `json:"signed_at,omitzero"` // the time of the last checkpoint
}

// A Fault is the first line that shows that a record was changed.
type Fault struct {
	File    string
	Line    int // from 1
	Problem string
}

func (f *Fault) Error() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Problem) }

// Verify reads the files of one record in their order. Public verifies checkpoints; empty for a record without. Known are texts with
// checkpoints that were kept elsewhere, which the record has to lead to: notes, or entries that have them. The error is a [*Fault], or of reading.
func Verify(files []string, public string, known []string) (Verified, error) {
	c := &chain{}
	if public != "" {
		v, err := note.NewVerifier(strings.TrimSpace(public))
		if err != nil {
			return c.Verified, fmt.Errorf("the key: %w", err)
		}
		c.verifiers = note.VerifierList(v)
	}
	for _, text := range known {
		for _, signed := range notes(text) {
			seq, head, err := c.checkpoint(signed)
			if err != nil {
				return c.Verified, fmt.Errorf("the checkpoint: %w", err)
			}
			c.known = append(c.known, mark{sequence: seq, head: head})
		}
	}
	for _, file := range files {
		if err := c.file(file); err != nil {
			return c.Verified, err
		}
	}
	for _, k := range c.known {
		if !k.met {
			problem := fmt.Sprintf("cut off: the record ends with entry %d, and a checkpoint is about entry %d", c.Last, k.sequence)
			return c.Verified, &Fault{files[len(files)-1], c.line, problem}
		}
	}
	c.Head = hex.EncodeToString(c.head[:])
	return c.Verified, nil
}

// notes returns the notes of the entries in a text, or the text, which is one.
func notes(text string) (all []string) {
	for line := range strings.Lines(text) {
		var e Entry
		if json.Unmarshal([]byte(line), &e) == nil && e.Note != "" {
			all = append(all, e.Note)
		}
	}
	if all == nil {
		all = []string{text}
	}
	return all
}

type mark struct {
	sequence int64
	head     string
	met      bool
}

func (m *mark) meets(sequence int64, head [sha256.Size]byte) bool {
	return m.sequence == sequence && m.head == base64.StdEncoding.EncodeToString(head[:])
}

// chain is what has been read.
type chain struct {
	Verified
	verifiers note.Verifiers // nil without a key
	known     []mark
	head      [sha256.Size]byte // of the last line
	line      int               // of the file
	cut       bool              // the last line is no entry, as a crash leaves it
}

// checkpoint verifies a checkpoint and returns what it is about.
func (c *chain) checkpoint(text string) (sequence int64, head string, err error) {
	if c.verifiers == nil {
		return 0, "", errors.New("there is no key to verify it with")
	}
	n, err := note.Open([]byte(text), c.verifiers)
	if err != nil {
		return 0, "", err
	}
	lines := strings.Split(n.Text, "\n")
	if len(lines) != 4 || lines[0] != origin {
		return 0, "", errors.New("it is of something else")
	}
	sequence, err = strconv.ParseInt(lines[1], 10, 64)
	return sequence, lines[2], err
}

// file reads one file.
func (c *chain) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 256<<10)
	c.line = 0
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			c.line++
			if problem := c.read(bytes.TrimSuffix(line, []byte("\n"))); problem != "" {
				return &Fault{name, c.line, problem}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// link is what a line says of its place in the chain.
type link struct {
	Version, Sequence          int64
	Time, Type, Note, Previous string
	Count                      int
}

// chained reads a line, of which most need not be decoded.
func chained(line []byte) (e link, err error) {
	err = rawjson.Object(line, func(name, value []byte) (err error) {
		number := func() int64 { n, _ := strconv.ParseInt(string(value), 10, 64); return n }
		switch string(name) {
		case "v":
			e.Version = number()
		case "seq":
			e.Sequence = number()
		case "count":
			e.Count = int(number())
		case "time":
			e.Time, err = rawjson.String(value)
		case "type":
			e.Type, err = rawjson.String(value)
		case "note":
			e.Note, err = rawjson.String(value)
		case "prev":
			e.Previous, err = rawjson.String(value)
		}
		return err
	})
	if err == nil && e.Version != 1 {
		err = errors.New("it is of another version")
	}
	return e, err
}

// read checks a line, and returns what is wrong with it.
func (c *chain) read(line []byte) (problem string) {
	before := c.head
	c.head = sha256.Sum256(line)
	e, err := chained(line)
	if err != nil {
		if c.cut || c.Entries == 0 {
			return "changed: it is no entry"
		}
		c.cut = true // the next one has to say so
		return ""
	}
	switch follows := e.Previous == hex.EncodeToString(before[:]); {
	case c.cut && e.Type != Open:
		return "changed: the line before is no entry, and no server began to write after it"
	case c.Entries == 0: // a record may begin with any file
	case follows && e.Sequence != c.Last+1:
		return fmt.Sprintf("changed: its number is not %d", c.Last+1)
	case e.Sequence > c.Last+1:
		return fmt.Sprintf("missing: entry %d follows entry %d", e.Sequence, c.Last)
	case e.Sequence <= c.Last:
		return fmt.Sprintf("reordered: entry %d follows entry %d", e.Sequence, c.Last)
	case !follows:
		if c.line > 1 {
			return fmt.Sprintf("changed: line %d is not the one that this one followed", c.line-1)
		}
		return "changed: the file before does not end with the line that this one followed"
	}
	if c.cut {
		c.cut = false
		c.Interrupted++
	}
	if c.Entries == 0 {
		c.First = e.Sequence
	}
	if e.Type == Checkpoint && c.verifiers != nil {
		sequence, head, err := c.checkpoint(e.Note)
		m := mark{sequence: sequence, head: head}
		switch {
		case err != nil:
			return "other key: the checkpoint is not signed by this key: " + err.Error()
		case c.Entries > 0 && !m.meets(c.Last, before):
			return "changed: the checkpoint is of other entries"
		}
		c.Signed, c.SignedAt = sequence, e.Time
	}
	c.Entries, c.Last, c.Ended = c.Entries+1, e.Sequence, e.Type == Close || c.Ended && e.Type == Checkpoint
	if e.Type == Dropped {
		c.Dropped += e.Count
	}
	for i := range c.known {
		if k := &c.known[i]; k.sequence == e.Sequence {
			if k.met = k.meets(e.Sequence, c.head); !k.met {
				return "changed: a checkpoint that was kept elsewhere is of another entry"
			}
		}
	}
	return ""
}
