package domain

import "strings"

// maxSignature bounds a signature, in bytes.
const maxSignature = 240

// Signature returns the arguments in short, those that must be given first: owner, labels?[],
// filter?{}. "?" marks one that may be left out, [] a list and {} an object.
func (s *ToolInputSchema) Signature() string {
	root := s.root()
	var required, optional []string
	for i := range root.Fields {
		f, mark := &root.Fields[i], ""
		for _, form := range (conversion{defs: root.defs}).forms(f) {
			mark += map[string]string{"array": "[]", "object": "{}"}[form.Type]
		}
		if f.Required {
			required = append(required, f.Name+mark)
		} else {
			optional = append(optional, f.Name+"?"+mark)
		}
	}
	return clip(strings.Join(append(required, optional...), ", "), maxSignature)
}
