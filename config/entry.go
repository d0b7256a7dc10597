package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/config/yamlconf"
	"github.com/toolserver/toolserver/config/yamledit"
)

// section is where the entries are that are edited.
var section = yamledit.Section{Key: "mcp_servers"}

// setEntry returns the text of a configuration file with an entry of the section added, or
// replaced.
func setEntry(text []byte, e Entry, replace bool) ([]byte, error) {
	found, err := yamledit.Find(text, section, e.Name)
	switch {
	case err != nil:
		return nil, err
	case found != nil && !replace:
		return nil, fmt.Errorf("%s.%s exists already; use --replace to replace it", section.Key, e.Name)
	}
	return yamledit.Set(text, section, e.Name, yamlconf.Node(e.Settings))
}

// toolSection is where tools are enabled.
var toolSection = yamledit.Section{Key: "tools"}

// setEnabled returns the text of a configuration file in which a tool is enabled or not, and the line that says so.
func setEnabled(text []byte, name string, enabled bool) ([]byte, int, error) {
	entry, err := yamledit.Find(text, toolSection, name)
	if err != nil {
		return nil, 0, err
	}
	if entry == nil || entry.Kind != yaml.MappingNode {
		entry = &yaml.Node{Kind: yaml.MappingNode}
	}
	isKey := func(n *yaml.Node) bool { return n.Value == "enabled" && n.Tag == "!!str" }
	at := slices.IndexFunc(entry.Content, isKey)
	if at < 0 {
		at, entry.Content = 0, append([]*yaml.Node{yamledit.Scalar("enabled"), {}}, entry.Content...)
	}
	value := entry.Content[at+1]
	*value = yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatBool(enabled), LineComment: value.LineComment}
	if text, err = yamledit.Set(text, toolSection, name, entry); err != nil {
		return nil, 0, err
	}
	if entry, err = yamledit.Find(text, toolSection, name); err != nil {
		return nil, 0, err
	}
	return text, entry.Content[slices.IndexFunc(entry.Content, isKey)].Line, nil
}

// onlyEntries reports whether anything but the named entries of a section differs between two texts of a
// file.
func onlyEntries(before, after []byte, s yamledit.Section, names []string) error {
	rest := func(text []byte) (map[string]any, error) {
		var all map[string]any
		if err := yaml.Unmarshal(text, &all); err != nil {
			return nil, err
		}
		entries, _ := all[s.Key].(map[string]any)
		for _, name := range names {
			delete(entries, name)
		}
		if len(entries) == 0 {
			delete(all, s.Key)
		}
		if len(all) == 0 {
			all = nil
		}
		return all, nil
	}
	x, err := rest(before)
	if err != nil {
		return err
	}
	y, err := rest(after)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(x, y) {
		return errors.New("other settings would change, too")
	}
	return nil
}
