package resources

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// Bounds of one completion.
const (
	maxValues = 100
	maxNames  = 100_000 // of a directory that are looked at
)

// complete returns what the path of a file URI could go on with: the names in
// the directory typed so far, those of directories with a slash. What cannot be
// listed has no completions.
func (r *fileReader) complete(ctx context.Context, argument, typed string, _ map[string]string) (c domain.Completions, err error) {
	if argument != "path" {
		return c, nil
	}
	found := append(r.roots(typed), r.entries(ctx, typed)...)
	slices.Sort(found)
	found = slices.Compact(found)
	c.Values = found[:min(len(found), maxValues)]
	return c, nil
}

// entries returns what typed can become by the names in its directory.
func (r *fileReader) entries(ctx context.Context, typed string) (found []string) {
	end := strings.LastIndex(typed, "/") + 1
	d, dir, err := r.openDir(typed[:end])
	if err != nil {
		return nil
	}
	defer d.Close()
	dir = strings.TrimRight(dir, "/") + "/" // joined as it is spelled: what ".." means depends on links
	for _, name := range names(d, typed[end:]) {
		if len(found) == maxValues || ctx.Err() != nil {
			break
		}
		if value, ok := r.value(typed[:end]+name, dir+name); ok {
			found = append(found, value)
		}
	}
	return found
}

// openDir opens the directory that a path with a slash at its end stands for.
// It may list only what list_directory may.
func (r *fileReader) openDir(path string) (d *pathguard.Dir, spelled string, err error) {
	if path == "" {
		d, err = r.list.OpenDir(".")
		return d, ".", err
	}
	return openEither(path, r.list.OpenDir)
}

// names returns the names in d that begin with prefix, sorted. Hidden ones have
// to be asked for.
func names(d *pathguard.Dir, prefix string) (found []string) {
	all, _ := d.Readdirnames(maxNames) // what came before an error will do
	for _, name := range all {
		hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(prefix, ".")
		if _, denied := d.Denied(name, false); !denied && !hidden && strings.HasPrefix(name, prefix) && utf8.ValidString(name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// value returns the completion for what is at path, if that may be read.
func (r *fileReader) value(spelled, path string) (string, bool) {
	info, err := r.read.Stat(path)
	switch {
	case err != nil:
		return "", false
	case info.Mode.IsDir():
		return spelled + "/", true
	}
	return spelled, info.Mode.IsRegular()
}

// roots returns the allowed paths that begin as typed does. The working
// directory is not among them until it is typed in full: its files have shorter
// names.
func (r *fileReader) roots(typed string) (found []string) {
	slash := typed[:len(typed)-len(strings.TrimLeft(typed, "/"))]
	for _, root := range r.read.AllowedBelow() {
		if typed == "" && root == filepath.Clean(r.work) {
			continue
		}
		spelled := slash + strings.Trim(filepath.ToSlash(root), "/")
		if !strings.HasPrefix(spelled, typed) || len(spelled) <= len(typed) {
			continue
		}
		if value, ok := r.value(spelled, root); ok {
			found = append(found, value)
		}
	}
	return found
}
