package yamlconf_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/config/yamlconf"
)

func TestFileReferences(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("plain", "secret-value\n")
	write("dos", "secret-value\r\n")
	write("lines", "a\nb\n\n")
	write("return", "a\r")
	write("full", strings.Repeat("x", 64<<10))
	write("over", strings.Repeat("x", 64<<10+1))
	for _, test := range []struct{ in, want, err string }{
		{in: "${file:plain}", want: "secret-value"},
		{in: "${file:./dos}", want: "secret-value"},
		{in: "${file:" + dir + "/plain}", want: "secret-value"},
		{in: "${file:~/plain}", want: "secret-value"},
		{in: "a${file:lines}b", want: "aa\nb\nb"},
		{in: "${file:return}", want: "a\r"},
		{in: "${file:full}", want: strings.Repeat("x", 64<<10)},
		{in: "${file:over}", err: ":1:13: labels.a: cannot read ${file:over}: larger than 64 KiB"},
		{in: strings.Repeat("${file:full}", 300), err: ":1:13: labels.a: the references of this file stand for more than 16 MiB"},
	} {
		var c testConfig
		file := filepath.Join(dir, "c.yaml")
		err := yamlconf.Decode(file, []byte(`labels: {a: "`+test.in+`"}`), &c, new(yamlconf.Source))
		switch {
		case test.err != "":
			if err == nil || err.Error() != file+test.err {
				t.Errorf("%.40s: got %v; want %s", test.in, err, test.err)
			}
		case err != nil || c.Labels["a"] != test.want:
			t.Errorf("%.40s: got %.40q, %v; want %.40q", test.in, c.Labels["a"], err, test.want)
		}
	}
}

func TestHomeDirectoryIsNeededOnlyWhenNamed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the home directory does not come from HOME")
	}
	t.Setenv("HOME", "")
	var c testConfig
	if err := yamlconf.Decode("c.yaml", []byte("working_directory: /x"), &c, new(yamlconf.Source)); err != nil {
		t.Error(err)
	}
	err := yamlconf.Decode("c.yaml", []byte("working_directory: ~/x"), &c, new(yamlconf.Source))
	if err == nil || !strings.HasPrefix(err.Error(), `c.yaml:1:20: working_directory: "~/x" needs the home directory: `) {
		t.Errorf("got %v", err)
	}
	t.Setenv("HOME", "/h")
	t.Setenv("TS_DIR", "sub")
	err = yamlconf.Decode("", []byte("working_directory: ${TS_DIR}/x"), &c, new(yamlconf.Source))
	wd, _ := os.Getwd()
	if err != nil || c.WorkDir != filepath.Join(wd, "sub", "x") {
		t.Errorf("got %s, %v; want it below the working directory", c.WorkDir, err)
	}
}
