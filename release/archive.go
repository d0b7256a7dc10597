package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"time"
)

// A file is an entry of an archive. Names end in no slash, directories too.
type file struct {
	name  string
	mode  fs.FileMode // with [fs.ModeDir] or [fs.ModeSymlink]
	data  []byte      // of a symlink the target
	owner int         // user and group; only images have others than root
}

// tarOf returns a tar archive in which nothing depends on the machine that made it.
func tarOf(files []file, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: when.UTC(),
			Uid: f.owner, Gid: f.owner, Format: tar.FormatGNU,
		}
		if f.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		switch f.mode.Type() {
		case fs.ModeDir:
			h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
		case fs.ModeSymlink:
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, string(f.data), 0
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if h.Size == 0 {
			continue
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// compressed returns data as gzip writes it, without a name and a time.
func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func tarGz(files []file, when time.Time) ([]byte, error) {
	data, err := tarOf(files, when)
	if err != nil {
		return nil, err
	}
	return compressed(data)
}

// zipOf returns a zip archive. It keeps the modes of files, which bundles need.
func zipOf(files []file, when time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: when.UTC()}
		h.SetMode(f.mode)
		entry, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
