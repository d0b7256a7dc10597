package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// suite is the release of Debian in the default image; the Dockerfile has the same.
const suite = "bookworm"

// included are the packages of the default image, besides what they depend on.
func included() []string {
	return []string{
		"base-files", "base-passwd", "bash", "coreutils", "dash", "diffutils", "findutils", "git", "grep", "gzip",
		"less", "mawk", "patch", "poppler-utils", "procps", "ripgrep", "sed", "tar",
	}
}

// leftOut are directories that no program needs.
func leftOut() []string {
	return []string{"usr/share/man/", "usr/share/locale/", "usr/share/info/", "usr/share/lintian/", "usr/share/bash-completion/", "usr/share/doc/"}
}

// debianRoot returns a small Debian: packages that apt has downloaded and verified,
// unpacked. No script of a package runs, so it works for other processors, too, and
// without being root; what the scripts would do is done here.
func (r *release) debianRoot(ctx context.Context, arch string) ([]file, error) {
	archives, err := r.downloaded(ctx, arch)
	if err != nil {
		return nil, err
	}
	root := debianFiles{}
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} { // usrmerge
		root[dir] = file{name: dir, mode: fs.ModeSymlink | 0o777, data: []byte("usr/" + dir)}
	}
	var status bytes.Buffer
	for _, archive := range archives {
		control, err := exec.CommandContext(ctx, "dpkg-deb", "-f", archive).Output()
		if err != nil {
			return nil, fmt.Errorf("dpkg-deb -f %s: %w", archive, err)
		}
		status.WriteString(strings.Replace(string(control), "\n", "\nStatus: install ok installed\n", 1) + "\n") // scanners read it
		content, err := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", archive).Output()
		if err != nil {
			return nil, fmt.Errorf("dpkg-deb --fsys-tarfile %s: %w", archive, err)
		}
		if err := root.add(content); err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
	}
	root["var/lib/dpkg/status"] = file{name: "var/lib/dpkg/status", mode: 0o644, data: status.Bytes()}
	root["usr/bin/awk"] = file{name: "usr/bin/awk", mode: fs.ModeSymlink | 0o777, data: []byte("mawk")}
	for _, name := range []string{"passwd", "group"} {
		list := bytes.Clone(root["usr/share/base-passwd/"+name+".master"].data)
		line := account
		if name == "group" {
			line = fmt.Sprintf("%s:x:%d:\n", project, nobody)
		}
		root["etc/"+name] = file{name: "etc/" + name, mode: 0o644, data: append(bytes.ReplaceAll(list, []byte(":*:"), []byte(":x:")), line...)}
	}
	for _, dir := range []string{"etc/ssl", "etc/ssl/certs"} {
		root[dir] = file{name: dir, mode: fs.ModeDir | 0o755}
	}
	files := make([]file, 0, len(root))
	for _, name := range slices.Sorted(maps.Keys(root)) {
		files = append(files, root[name])
	}
	return files, nil
}

// downloaded returns packages and what they depend on, as files in the order of their names.
func (r *release) downloaded(ctx context.Context, arch string) ([]string, error) {
	dir := filepath.Join(r.work, "debian-"+arch)
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	sources, err := debianSources(ctx)
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"sources.list": sources, "status": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	apt := func(args ...string) error {
		options := []string{"-qq", "-y"}
		for _, o := range []string{
			"APT::Architecture=" + arch, "APT::Architectures=" + arch, "APT::Sandbox::User=root",
			"Dir::State::status=" + dir + "/status", "Dir::State::Lists=" + dir + "/lists",
			"Dir::Cache=" + dir, "Dir::Cache::archives=" + dir + "/archives",
			"Dir::Etc::SourceList=" + dir + "/sources.list", "Dir::Etc::SourceParts=/dev/null", "Debug::NoLocking=1",
		} {
			options = append(options, "-o", o)
		}
		if out, err := exec.CommandContext(ctx, "apt-get", append(options, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w (-debian needs Debian's apt and its archive)\n%s", args[0], err, out)
		}
		return nil
	}
	if err := apt("update"); err != nil {
		return nil, err
	}
	if err := apt(append([]string{"install", "--no-install-recommends", "--download-only"}, included()...)...); err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "archives", "*.deb"))
}

// debianSources returns the sources.list of an image: where this machine gets Debian from,
// and nothing else that it has, with signatures of Debian only.
func debianSources(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages").Output()
	if err != nil {
		return "", fmt.Errorf("apt-get indextargets: %w (-debian needs Debian's apt)", err)
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		entry := "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] " + strings.Join(f, " ") + "\n"
		if len(f) == 3 && (f[1] == suite || f[1] == suite+"-security") && f[2] == "main" && !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	if len(list) < 2 {
		return "", fmt.Errorf("-debian needs %s and %[1]s-security among the sources of apt", suite)
	}
	return strings.Join(list, ""), nil
}

// debianFiles are the files of a Debian system by name.
type debianFiles map[string]file

// add adds the files of a package.
func (d debianFiles) add(content []byte) error {
	archive := tar.NewReader(bytes.NewReader(content))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := merged(h.Name)
		if name == "." || slices.ContainsFunc(leftOut(), func(dir string) bool { return strings.HasPrefix(name+"/", dir) && path.Base(name) != "copyright" }) {
			continue
		}
		f := file{name: name, mode: h.FileInfo().Mode()}
		switch h.Typeflag {
		case tar.TypeDir:
			if _, there := d[name]; there {
				continue
			}
		case tar.TypeSymlink:
			f.data = []byte(h.Linkname)
		case tar.TypeLink:
			f.mode, f.data = fs.ModeSymlink|0o777, []byte("/"+merged(h.Linkname))
		default:
			if f.data, err = io.ReadAll(archive); err != nil {
				return err
			}
		}
		d[name] = f
	}
}

// merged returns a name where it belongs since /bin and the like are symlinks.
func merged(name string) string {
	name = path.Clean(strings.TrimPrefix(name, "./"))
	top, _, _ := strings.Cut(name, "/")
	if slices.Contains([]string{"bin", "sbin", "lib", "lib64"}, top) {
		return "usr/" + name
	}
	return name
}
