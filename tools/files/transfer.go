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
	Path       string     `json:"path" min:"1" max:"4096"`
	File       *call.File `json:"file"`
	CreateDirs *bool      `json:"create_dirs"`
	OnConflict string     `json:"on_conflict" default:"overwrite" enum:"overwrite|error"`
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
	if err := t.mayUpload(to); err != nil { // before the client sends anything
		return t.writeFailure(to, err)
	}
	if in.File == nil {
		address, err := call.UploadLink(ctx)
		if err != nil {
			return domain.ToolResult{}, err
		}
		res := domain.Text(fmt.Sprintf("Nothing is written yet. Give the user this address: a browser has a form there, and curl -T FILE works, too. "+
			"What they put there within 15 minutes, once, becomes %s: %s", in.Path, address))
		res.Content = append(res.Content, domain.Content{Type: domain.LinkContent, URI: address, Name: "Put the file here"})
		return res, nil
	}
	content, err := call.Upload(ctx, *in.File)
	if err != nil {
		return domain.ToolResult{}, err
	}
	defer content.Close()
	lock, free := t.writing().held(ctx)
	defer free()
	created, err := t.writes.Fill(in.Path, func(f *os.File) error {
		track := newProgress(ctx, "written")
		track.total = in.File.Size
		for written := int64(0); written < in.File.Size; track.moved(written) {
			n, err := io.CopyN(f, content, min(copiedAtOnce, in.File.Size-written))
			if err = cmp.Or(ctx.Err(), err); err != nil {
				return err
			}
			written += n
		}
		return nil
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
	info, err := t.writes.Stat(to.Path)
	switch {
	case err == nil && info.Mode.IsDir() || os.IsPathSeparator(to.Path[len(to.Path)-1]):
		return failed("invalid_path", to.Path+" names a directory and no file", "Add the name of the file.")
	case err == nil && to.OnConflict == "error":
		return &pathguard.Error{Kind: pathguard.KindExists, Path: to.Path}
	case isNotFound(err) && (to.CreateDirs || !t.lacksParent(to.Path)):
		return nil
	}
	return err
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
		Description: "Give the user a file of the workspace, byte by byte and without its content passing through the conversation: their client gets it " +
			"within 15 minutes. Use read_file to read it yourself.",
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
	about := call.File{
		Name: filepath.Base(f.Info.Real), Size: f.Info.Size, MIMEType: cmp.Or(mime.TypeByExtension(filepath.Ext(f.Info.Real)), "application/octet-stream"),
	}
	meta, address, err := call.Offer(ctx, f.File, about)
	if err != nil {
		return domain.ToolResult{}, err
	}
	res := domain.Text(fmt.Sprintf("The client gets %s (%s)", in.Path, humanSize(about.Size)))
	if address != "" {
		res = domain.Text(fmt.Sprintf("Give the user this address, at which they get %s (%s) within 15 minutes, once: %s", in.Path, humanSize(about.Size), address))
		res.Content = append(res.Content, domain.Content{Type: domain.LinkContent, URI: address, Name: about.Name, MIMEType: about.MIMEType})
	}
	if meta != nil {
		res.Meta = meta
	}
	res.Made = map[string][]string{"offered_bytes": {strconv.FormatInt(about.Size, 10)}}
	res.Results = downloadResult{in.Path, about.Size, about.MIMEType}
	return res, nil
}
