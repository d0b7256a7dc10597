package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user and group of the images; the Dockerfile has the same.
const nobody = 65532

// images writes the images: the minimal one, and with -debian the default one.
func (r *release) images(ctx context.Context) error {
	if err := r.image(ctx, "-minimal", nil); err != nil {
		return err
	}
	if !r.debian {
		return nil
	}
	return r.image(ctx, "", r.debianRoot)
}

// image writes an index of all processors as an archive of an OCI layout and, for
// each processor, an archive that docker load reads. The tag is the version with a
// suffix.
func (r *release) image(ctx context.Context, suffix string, base func(ctx context.Context, arch string) ([]file, error)) error {
	tag, err := name.NewTag(imageName + ":" + string(r.version) + suffix)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		var layers [][]file
		if base != nil {
			files, err := base(ctx, p.arch)
			if err != nil {
				return err
			}
			layers = append(layers, files)
		}
		own, err := r.ownFiles(p, base == nil)
		if err != nil {
			return err
		}
		image, err := r.assembled(p, append(layers, own))
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: p.os, Architecture: p.arch}, Annotations: map[string]string{"org.opencontainers.image.ref.name": string(r.version) + suffix},
		}})
		var b bytes.Buffer
		if err := tarball.Write(tag, image, &b); err != nil {
			return err
		}
		if err := r.out.write(fmt.Sprintf("%s_%s_image%s_%s.docker.tar", project, r.version, suffix, p.arch), b.Bytes()); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp(r.work, "layout")
	if err != nil {
		return err
	}
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	files, err := filesBelow(dir)
	if err != nil {
		return err
	}
	data, err := tarOf(files, r.date)
	if err != nil {
		return err
	}
	return r.out.write(fmt.Sprintf("%s_%s_image%s.oci.tar", project, r.version, suffix), data)
}

// filesBelow returns the files of a directory as entries of an archive.
func filesBelow(dir string) (files []file, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		f := file{name: path, mode: 0o644}
		if d.IsDir() {
			f.mode = fs.ModeDir | 0o755
		} else if f.data, err = os.ReadFile(filepath.Join(dir, path)); err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// ownFiles returns what toolserver adds to an image. Without a base it brings the
// directories and the user, too.
func (r *release) ownFiles(p platform, bare bool) ([]file, error) {
	binary, err := r.binary(p, "usr/local/bin/"+project)
	if err != nil {
		return nil, err
	}
	dir := fs.ModeDir | 0o755
	open := fs.ModeDir | fs.ModeSticky | 0o777 // docker run --user may name anybody
	var files []file
	if bare {
		for _, name := range []string{"etc", "etc/ssl", "etc/ssl/certs", "home", "usr", "usr/local", "usr/local/bin"} {
			files = append(files, file{name: name, mode: dir})
		}
		files = append(files,
			file{name: "tmp", mode: open},
			file{name: "etc/passwd", mode: 0o644, data: []byte(account)},
			file{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "%s:x:%d:\n", project, nobody)})
	}
	return append(files, binary,
		file{name: "data", mode: dir, owner: nobody},
		file{name: "home/" + project, mode: open, owner: nobody},
		file{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()}), nil
}

// account is the line of the user of the images in etc/passwd.
var account = fmt.Sprintf("%s:x:%d:%[2]d::/home/%[1]s:/usr/sbin/nologin\n", project, nobody)

// authorities returns Mozilla's certificate authorities, without those that it trusts
// only in part, which a list of certificates cannot express.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}

// assembled returns an image of layers.
func (r *release) assembled(p platform, layers [][]file) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: r.date}
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{
		Architecture: p.arch, OS: p.os, Created: created, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: fmt.Sprintf("%d:%[1]d", nobody), WorkingDir: "/data",
			Entrypoint: []string{"/usr/local/bin/" + project}, Cmd: []string{"serve", "--stdio", "/data"},
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/" + project},
			Labels: map[string]string{
				"io.modelcontextprotocol.server.name":  registryName,
				"org.opencontainers.image.title":       project,
				"org.opencontainers.image.description": summary,
				"org.opencontainers.image.version":     string(r.version),
				"org.opencontainers.image.revision":    r.commit,
				"org.opencontainers.image.created":     r.date.Format(time.RFC3339),
				"org.opencontainers.image.source":      homepage,
				"org.opencontainers.image.licenses":    license,
			},
		},
	})
	if err != nil {
		return nil, err
	}
	for _, files := range layers {
		data, err := tarGz(files, r.date)
		if err != nil {
			return nil, err
		}
		opened := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
		layer, err := tarball.LayerFromOpener(opened, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		history := v1.History{Created: created, CreatedBy: project + " " + string(r.version)}
		image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: history})
		if err != nil {
			return nil, err
		}
	}
	return image, nil
}
