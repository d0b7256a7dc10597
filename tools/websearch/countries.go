package websearch

import (
	_ "embed" // for the table
	"slices"
	"strings"
)

//go:embed countries.txt
var countryTable string

// countries returns what a service calls countries, by their codes.
func countries(service string) map[string]string {
	_, table, _ := strings.Cut(countryTable, "\n"+service+"\n")
	table, _, _ = strings.Cut(table, "\n\n")
	names := map[string]string{}
	for pair := range slices.Chunk(strings.Fields(table), 2) {
		names[pair[0]] = strings.ReplaceAll(pair[1], "_", " ")
	}
	return names
}

// countryCode returns the code of a country in capitals. The United Kingdom is GB, whatever people write.
func countryCode(text string) string {
	code := strings.ToUpper(text)
	if code == "UK" {
		return "GB"
	}
	return code
}
