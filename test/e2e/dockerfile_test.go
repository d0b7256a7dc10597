package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDockerfile reads the Dockerfile, holds its images to what they must have, and
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
	stages := []map[string]string{} // the instructions of each
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if instruction == "" || strings.HasPrefix(instruction, "#") {
			continue
		}
		switch instruction {
		case "FROM":
			stages = append(stages, map[string]string{})
		case "RUN":
			if len(stages) > 1 {
				break
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
		case "ARG", "ENV", "WORKDIR", "LABEL", "USER", "ENTRYPOINT", "CMD":
		default:
			t.Errorf("unknown instruction %s", instruction)
		}
		stages[len(stages)-1][instruction] += rest + "\n"
	}
	if len(stages) != 3 {
		t.Fatalf("%d stages: %v", len(stages), stages)
	}
	for i, own := range []map[string]string{
		{"FROM": "scratch AS minimal", "COPY": "ca-certificates.crt"},
		{"FROM": "debian:bookworm-slim", "RUN": "ca-certificates git less patch poppler-utils procps ripgrep"},
	} {
		stage := stages[i+1]
		for instruction, want := range map[string]string{
			"LABEL": `io.modelcontextprotocol.server.name="io.github.toolserver/toolserver"`, "USER": "65532:65532", "ENTRYPOINT": "/usr/local/bin/toolserver", "ENV": "HOME=/home/toolserver",
		} {
			own[instruction] = want
		}
		for instruction, want := range own {
			if !strings.Contains(stage[instruction], want) {
				t.Errorf("%s has no %s %s", strings.TrimSpace(stage["FROM"]), instruction, want)
			}
		}
	}
	if stages[1]["RUN"] != "" {
		t.Errorf("the minimal image runs %q: it has no shell", stages[1]["RUN"])
	}
	file, err := exec.Command("go", "version", "-m", filepath.Join(out, "toolserver")).Output()
	if err != nil || !strings.Contains(string(file), "CGO_ENABLED=0") {
		t.Errorf("the binary is not static: %v\n%s", err, file)
	}
	if b, err := exec.Command(filepath.Join(out, "toolserver"), "version").Output(); err != nil || !strings.HasPrefix(string(b), "toolserver ") {
		t.Errorf("the binary does not run: %q, %v", b, err)
	}
}
