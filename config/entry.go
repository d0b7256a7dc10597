package config

import (
	"errors"
	"fmt"
	"reflect"

	"gopkg.in/yaml.v3"

	"toolserver/config/yamlconf"
	"toolserver/config/yamledit"
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

// removeEntry returns the text of a configuration file without an entry of the section.
func removeEntry(text []byte, name string) ([]byte, error) {
	return yamledit.Remove(text, section, name)
}

// onlyEntries reports whether anything but the named entries differs between two texts of a
// file.
func onlyEntries(before, after []byte, names []string) error {
	rest := func(text []byte) (map[string]any, error) {
		var all map[string]any
		if err := yaml.Unmarshal(text, &all); err != nil {
			return nil, err
		}
		servers, _ := all[section.Key].(map[string]any)
		for _, name := range names {
			delete(servers, name)
		}
		if len(servers) == 0 {
			delete(all, section.Key)
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
