package mail

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// A Person is somebody whom a caller names.
type Person struct {
	Name, Address string
	Optional      bool // need not come
}

// ParsePeople reads people as callers write them: addresses with commas, or a JSON list of such texts and of objects with email,
// name and optional. A problem is an [*InputError] of the field.
func ParsePeople(field, text string) (people []Person, err error) {
	var list []json.RawMessage
	if json.Unmarshal([]byte(text), &list) != nil {
		quoted, _ := json.Marshal(text)
		list = []json.RawMessage{quoted}
	}
	for _, element := range list {
		var address, name string
		var object struct {
			Email, Address, EmailAddress, Name, DisplayName string
			Optional                                        bool
			ResponseStatus                                  string // as answers of Google's have it
		}
		if json.Unmarshal(element, &address) != nil {
			d := json.NewDecoder(bytes.NewReader(element))
			d.DisallowUnknownFields()
			if err = d.Decode(&object); err == nil {
				name, address = cmp.Or(object.Name, object.DisplayName), cmp.Or(object.Email, object.Address, object.EmailAddress)
			}
			if address == "" || object.ResponseStatus != "" && object.ResponseStatus != "needsAction" || headerProblem(name) != "" {
				return nil, &InputError{field, fmt.Sprintf("%.200s must be an address, or an object with email, name and optional only", element)}
			}
		}
		all, err := ParseAddresses(field, []string{address})
		if err != nil {
			return nil, err
		}
		if name != "" && len(all) != 1 {
			return nil, &InputError{field, fmt.Sprintf("%.200s must have one email", element)}
		}
		for _, a := range all {
			people = append(people, Person{cmp.Or(name, a.Name), a.Address, object.Optional})
		}
	}
	return people, nil
}
