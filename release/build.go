package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A platform is what a binary runs on, in Go's names.
type platform struct{ os, arch string }

// platforms are those of a release.
func platforms() []platform {
	return []platform{
		{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
	}
}

func (p platform) String() string { return p.os + "/" + p.arch }

// program is the name of the binary.
func (p platform) program() string {
	if p.os == "windows" {
		return project + ".exe"
	}
	return project
}

// node returns the platform in the names of Node.js, which npm and bundles use.
func (p platform) node() (system, cpu string) {
	system, cpu = p.os, p.arch
	if system == "windows" {
		system = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	return system, cpu
}

// build builds the binary of a platform and returns its file. Equal sources give equal
// binaries, wherever they are: paths are trimmed, and the version comes by -X.
func (r *release) build(ctx context.Context, p platform) (string, error) {
	file := filepath.Join(r.work, p.os+"_"+p.arch, p.program())
	stamps := fmt.Sprintf("-s -w -buildid= -X main.version=%s -X main.commit=%s -X main.date=%s", r.version, r.commit, r.date.Format(time.RFC3339))
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "grpcnotrace", "-trimpath", "-buildvcs=false", "-ldflags", stamps, "-o", file, "./cmd/"+project)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build for %v: %w\n%s", p, err, out)
	}
	return file, nil
}

// print returns what the binary of this machine prints, apart from all configuration
// and credentials.
func (r *release) print(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, r.host, args...)
	empty, err := os.MkdirTemp(r.work, "empty")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(empty)
	cmd.Dir = empty
	cmd.Env = []string{"HOME=" + empty, "PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", project, strings.Join(args, " "), err, &stderr)
	}
	return string(out), nil
}
