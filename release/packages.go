package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/mail"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// copyright is what Debian wants to know, in its machine-readable form.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ` + project + `
Source: ` + homepage + `

Files: *
Copyright: 2026 The toolserver authors
License: ` + license + `
 On Debian systems the text of this license is in
 /usr/share/common-licenses/Apache-2.0.
`

// overrides tell Debian's checker what is meant: Go links statically, and the name of
// sensible-browser is one of several that a library tries.
const overrides = project + ": statically-linked-binary [usr/bin/" + project + "]\n" +
	project + ": missing-depends-on-sensible-utils sensible-browser [usr/bin/" + project + "]\n" +
	project + ": initial-upload-closes-no-bugs\n" + project + ": unknown-field License\n"

// packages writes the packages of Linux distributions.
func (r *release) packages(context.Context) error {
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm", "apk"} {
			if err := r.systemPackage(p, format); err != nil {
				return fmt.Errorf("%s for %v: %w", format, p, err)
			}
		}
	}
	return nil
}

func (r *release) systemPackage(p platform, format string) error {
	contents, err := r.contents(p, format)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: project, Arch: p.arch, Platform: p.os, Version: string(r.version), Release: "1", Section: "utils", Priority: "optional",
		Maintainer: maintainer, Vendor: owner, Homepage: homepage, License: license, Description: synopsis + "\n" + wrapped(description, 76),
		MTime: r.date, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents, Umask: 0o022,
			RPM: nfpm.RPM{BuildHost: project, Summary: synopsis, Packager: maintainer},
		},
	})
	if format != "apk" { // of Alpine, where a package is pulled in or is not
		info.Recommends = []string{"ca-certificates"}
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return err
	}
	return r.out.write(packager.ConventionalFileName(info), b.Bytes())
}

// wrapped breaks a text into lines.
func wrapped(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// contents writes the files of a package below the work directory, since nfpm reads
// them, and returns where they belong.
func (r *release) contents(p platform, format string) (files.Contents, error) {
	binary, err := r.binary(p, "usr/bin/"+project)
	if err != nil {
		return nil, err
	}
	all := []file{binary}
	places := map[string]string{
		"completions/toolserver.bash": "usr/share/bash-completion/completions/toolserver",
		"completions/_toolserver":     "usr/share/zsh/site-functions/_toolserver",
		"completions/toolserver.fish": "usr/share/fish/vendor_completions.d/toolserver.fish",
		"man/toolserver.1":            "usr/share/man/man1/toolserver.1.gz",
	}
	if format == "deb" {
		places["completions/_toolserver"] = "usr/share/zsh/vendor-completions/_toolserver"
	}
	for _, page := range r.pages {
		name := page.name
		page.name = places[name]
		if filepath.Ext(page.name) == ".gz" {
			if page.data, err = compressed(page.data); err != nil {
				return nil, err
			}
		}
		all = append(all, page)
	}
	texts, err := r.legal(format)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(r.work, "package")
	if err != nil {
		return nil, err
	}
	var contents files.Contents
	for _, f := range append(all, texts...) {
		source := filepath.Join(dir, fmt.Sprint(len(contents)))
		if err := os.WriteFile(source, f.data, 0o644); err != nil {
			return nil, err
		}
		contents = append(contents, &files.Content{
			Source: source, Destination: "/" + f.name, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.date},
		})
	}
	if format == "deb" { // so that removing it removes them
		contents = append(contents, &files.Content{
			Destination: "/usr/share/doc/" + project, Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: fs.ModeDir | 0o755, MTime: r.date},
		})
	}
	return contents, nil
}

// legal returns the license and the changes, where each system expects them.
func (r *release) legal(format string) ([]file, error) {
	text, err := r.text("LICENSE")
	if err != nil {
		return nil, err
	}
	if format != "deb" {
		text.name = "usr/share/licenses/" + project + "/LICENSE"
		return []file{text}, nil
	}
	changes, err := r.text("CHANGELOG.md")
	if err != nil {
		return nil, err
	}
	author, err := mail.ParseAddress(maintainer)
	if err != nil {
		return nil, err
	}
	debian := fmt.Sprintf("%s (%s-1) unstable; urgency=medium\n\n  * New version; changelog.gz has what is new.\n\n -- %s <%s>  %s\n",
		project, r.version, author.Name, author.Address, r.date.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	doc := "usr/share/doc/" + project + "/"
	upstream, err := compressed(changes.data)
	if err != nil {
		return nil, err
	}
	packaged, err := compressed([]byte(debian))
	return []file{
		{name: doc + "copyright", mode: 0o644, data: []byte(copyright)},
		{name: "usr/share/lintian/overrides/" + project, mode: 0o644, data: []byte(overrides)},
		{name: doc + "changelog.gz", mode: 0o644, data: upstream},
		{name: doc + "changelog.Debian.gz", mode: 0o644, data: packaged},
	}, err
}
