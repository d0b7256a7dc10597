package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// These lines of a document enclose what a run writes.
const (
	documentBegin = "<!-- begin: written by make bench -->\n"
	documentEnd   = "<!-- end: written by make bench -->\n"
)

// replaceRun returns a document with another run in place of the one in it.
func replaceRun(document, run string) (string, error) {
	before, rest, begins := strings.Cut(document, documentBegin)
	_, after, ends := strings.Cut(rest, documentEnd)
	if !begins || !ends {
		return "", fmt.Errorf("there are no lines %q and %q for a run to go between", strings.TrimSpace(documentBegin), strings.TrimSpace(documentEnd))
	}
	return before + documentBegin + "\n" + run + "\n" + documentEnd + after, nil
}

// checkDocument reports why a run could not be written.
func checkDocument(file string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if _, err := replaceRun(string(document), ""); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// write replaces the run in a document with this one.
func (l *lab) write(file string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var run bytes.Buffer
	l.table.printMarkdown(&run)
	text, err := replaceRun(string(document), run.String())
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	// Beside it, so that the document is whole at any moment.
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
