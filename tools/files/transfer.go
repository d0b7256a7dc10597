package files

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strconv"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// uploadInput are the arguments of upload_file.
type uploadInput struct {
	Path       string    `json:"path" min:"1" max:"4096"`
	File       call.File `json:"file"`
	CreateDirs *bool     `json:"create_dirs"`
	OnConflict string    `json:"on_conflict" default:"overwrite" enum:"overwrite|error"`
}

func (uploadInput) Words() string { return arguments }

func uploadFile(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Upload file", Target: []string{"path"},
		Description: "Put a file of the user's machine into the workspace, atomically and without its content passing through the conversation; at most 5 GiB. " +
			"Use write_file for content that you have.",
		Annotations: domain.Annotations{Destructive: true, Idempotent: true},
		Output:      schema.OutputOf[writeResult](),
		Ability:     "take files of the client",
	}, fileTool.upload)
}

func (t fileTool) upload(ctx context.Context, in uploadInput) (domain.ToolResult, error) {
	to := writeInput{Path: in.Path, OnConflict: in.OnConflict, CreateDirs: t.createsDirs()}
	if in.CreateDirs != nil {
		to.CreateDirs = *in.CreateDirs
	}
	if os.IsPathSeparator(in.Path[len(in.Path)-1]) {
		return domain.Failure("invalid_path", in.Path+" ends in a separator, so it names a directory and no file", "Add the name of the file."), nil
	}
	if err := t.mayUpload(to); err != nil { // before the client sends anything
		return t.writeFailure(to, err)
	}
	contents, err := call.Upload(ctx, in.File)
	if err != nil {
		return domain.ToolResult{}, err
	}
	defer contents[0].Close()
	lock, free := t.writing.held(ctx)
	defer free()
	created, err := t.writes.Fill(in.Path, func(f *os.File) error {
		track, written := newProgress(ctx, "written"), int64(0)
		for {
			n, err := io.CopyN(f, contents[0], copiedAtOnce)
			written += n
			track.moved(written)
			switch {
			case err == io.EOF:
				return nil
			case err != nil || ctx.Err() != nil:
				return cmp.Or(ctx.Err(), err)
			}
		}
	}, pathguard.ReplaceOptions{CreateDirs: to.CreateDirs, NoReplace: in.OnConflict == "error", Before: lock})
	if err != nil {
		return t.writeFailure(to, err)
	}
	res := domain.Text(fmt.Sprintf("Successfully wrote %d bytes to %s", in.File.Size, in.Path))
	res.Results = writeResult{Path: in.Path, Bytes: in.File.Size, Created: created}
	res.Made = map[string][]string{"bytes": {strconv.FormatInt(in.File.Size, 10)}}
	return res, nil
}

// mayUpload reports why a file cannot be written, as far as can be told before.
func (t fileTool) mayUpload(to writeInput) error {
	decision, err := t.writes.Check(to.Path)
	switch {
	case err != nil:
		return err
	case !decision.Allowed:
		_, err = t.writes.Stat(to.Path) // says which rule forbids it
		return err
	}
	_, err = t.writes.Stat(to.Path)
	switch {
	case err == nil && to.OnConflict == "error":
		return &pathguard.Error{Kind: pathguard.KindExists, Path: to.Path}
	case isNotFound(err) && !to.CreateDirs && t.lacksParent(to.Path):
		return err
	}
	return nil
}

// downloadInput are the arguments of download_file.
type downloadInput struct {
	Path string `json:"path" min:"1" max:"4096"`
}

func (downloadInput) Words() string { return arguments }

// downloadResult is the result of download_file.
type downloadResult struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	MIMEType string `json:"mime_type"`
}

func downloadFile(t fileTool) domain.Tool {
	return define(t, domain.Tool{
		Title: "Download file", Target: []string{"path"},
		Description: "Give the user a file of the workspace, byte by byte and without its content passing through the conversation: their client gets it, " +
			"or a link does, once and within 15 minutes. Use read_file to read it yourself.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Output:      schema.OutputOf[downloadResult](),
		Ability:     "give files to the client",
	}, fileTool.download)
}

func (t fileTool) download(ctx context.Context, in downloadInput) (domain.ToolResult, error) {
	f, err := t.reads.Open(in.Path)
	if err != nil {
		return domain.ToolResult{}, err
	}
	d := call.Download{
		File: f.File, Path: f.Info.Real, Name: filepath.Base(f.Info.Real), Size: f.Info.Size, Modified: f.Info.ModTime,
		MIMEType: cmp.Or(mime.TypeByExtension(filepath.Ext(f.Info.Real)), "application/octet-stream"),
	}
	offered, err := call.Offer(ctx, d)
	if err != nil {
		return domain.ToolResult{}, err
	}
	size, made := strconv.FormatInt(d.Size, 10), "offered_bytes"
	res := domain.Text(fmt.Sprintf("The client gets %s (%s)", in.Path, humanSize(d.Size)))
	switch {
	case offered.Sent:
		made = "sent_bytes"
	case offered.Link != "":
		res = domain.Text(fmt.Sprintf("%s (%s) can be downloaded once within 15 minutes at %s", in.Path, humanSize(d.Size), offered.Link))
		res.Content = append(res.Content, domain.Content{Type: domain.LinkContent, URI: offered.Link, Name: d.Name, MIMEType: d.MIMEType})
	}
	res.Meta, res.Made = offered.Meta, map[string][]string{made: {size}}
	res.Results = downloadResult{in.Path, d.Size, d.MIMEType}
	return res, nil
}
