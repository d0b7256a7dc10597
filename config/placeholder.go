package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/config/yamlconf"
)

// Clients that have no value for an optional setting pass on its placeholder as it
// stands: ${user_config.brave_api_key} of a bundle, or ${BRAVE_API_KEY} of a
// configuration. Such a value is unset.

// ambient returns the value of an environment variable, "" if it is a placeholder.
func ambient(name string) string {
	value := strings.TrimSpace(os.Getenv(name))
	if yamlconf.IsPlaceholder(value) {
		return ""
	}
	return value
}

// given returns the overrides without those that are placeholders, which it names. Directories
// of which nothing is left are an error: the server would serve wherever it was started.
func (o Overrides) given() (_ Overrides, placeholders []string, err error) {
	if yamlconf.IsPlaceholder(o.File) {
		placeholders = append(placeholders, fmt.Sprintf("--config is %s, which the program that started the server has not replaced, so it is unset", o.File))
		o.File = ""
	}
	all := o.Directories
	o.Directories = slices.DeleteFunc(slices.Clone(all), func(dir string) bool {
		if !yamlconf.IsPlaceholder(dir) {
			return false
		}
		placeholders = append(placeholders, fmt.Sprintf("a directory is %s, which the program that started the server has not replaced, so it is left out", dir))
		return true
	})
	if len(all) > 0 && len(o.Directories) == 0 {
		return o, nil, fmt.Errorf("the directory %s is a placeholder that the program that started the server has not replaced: give a directory", all[0])
	}
	return o, placeholders, nil
}

// Placeholders returns a line for each value of the command line and of the environment that is
// unset because it is a placeholder.
func (l *Loaded) Placeholders() []string {
	all := slices.Clone(l.placeholders)
	names := []string{configVariable, googleClientID}
	for _, c := range l.keys() {
		names = append(names, c.variable)
	}
	for _, name := range names {
		if value := strings.TrimSpace(os.Getenv(name)); yamlconf.IsPlaceholder(value) {
			all = append(all, fmt.Sprintf("environment variable %s is %s, which the program that started the server has not replaced, so it is unset", name, value))
		}
	}
	return all
}
