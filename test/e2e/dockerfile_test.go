package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDockerfile reads the Dockerfile, holds it to what an image must have, and
// runs what its build stage runs, since no engine may be at hand.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	stages, seen := 0, map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if instruction == "" || strings.HasPrefix(instruction, "#") {
			continue
		}
		switch instruction {
		case "FROM":
			stages++
		case "RUN":
			if stages != 1 {
				t.Errorf("the last stage runs %q: it has no shell", rest)
			}
			cmd := exec.Command("sh", "-c", strings.ReplaceAll(rest, "/out", out))
			cmd.Dir = root
			if b, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("RUN %s: %v\n%s", rest, err, b)
			}
		case "COPY":
			if from, ok := strings.CutPrefix(rest, "--from=build "); ok && strings.Contains(from, "/out/") {
				source := strings.ReplaceAll(strings.Fields(from[strings.Index(from, "/out/"):])[0], "/out", out)
				if _, err := os.Stat(source); err != nil {
					t.Errorf("COPY %s: %v", rest, err)
				}
			}
		case "ARG", "WORKDIR", "LABEL", "USER", "ENTRYPOINT", "CMD":
		default:
			t.Errorf("unknown instruction %s", instruction)
		}
		seen[instruction] += rest + "\n"
	}
	for instruction, want := range map[string]string{
		"LABEL": `io.modelcontextprotocol.server.name="`, "USER": "65532", "ENTRYPOINT": "/usr/local/bin/toolserver", "COPY": "ca-certificates.crt", "FROM": "FROM",
	} {
		if instruction == "FROM" {
			if stages < 2 || !strings.Contains(seen["FROM"], "scratch") {
				t.Errorf("%d stages: %s", stages, seen["FROM"])
			}
		} else if !strings.Contains(seen[instruction], want) {
			t.Errorf("%s has no %s", instruction, want)
		}
	}
	file, err := exec.Command("go", "version", "-m", filepath.Join(out, "toolserver")).Output()
	if err != nil || !strings.Contains(string(file), "CGO_ENABLED=0") {
		t.Errorf("the binary is not static: %v\n%s", err, file)
	}
	if b, err := exec.Command(filepath.Join(out, "toolserver"), "version").Output(); err != nil || !strings.HasPrefix(string(b), "toolserver ") {
		t.Errorf("the binary does not run: %q, %v", b, err)
	}
}
