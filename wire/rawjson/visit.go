package rawjson

import "iter"

// A Value is a value at which [Read] has arrived. It can be read once, and only before
// the visit of it has returned; what is not read is stepped over.
type Value struct {
	s     *scanner
	start int
}

// Read calls visit for the one value that data consists of. Values that contain others
// can be visited in turn, so that nested ones are read in one pass.
func Read(data []byte, visit func(Value) error) error {
	s := scanner{data: data}
	return s.whole(func() error {
		v := Value{&s, s.pos}
		return v.end(visit(v))
	})
}

// end steps over what the visit, which has returned err, has not read.
func (v Value) end(err error) error {
	if err != nil || v.s.pos > v.start {
		return err
	}
	return v.s.skip()
}

// Kind returns the first byte of the value, or 0 if there is none.
func (v Value) Kind() byte {
	if v.start < len(v.s.data) {
		return v.s.data[v.start]
	}
	return 0
}

// Raw returns the bytes of the value, which point into the data. It can be called after
// the value was read, too.
func (v Value) Raw() ([]byte, error) {
	if v.s.pos == v.start {
		if err := v.s.skip(); err != nil {
			return nil, err
		}
	}
	return v.s.data[v.start:v.s.pos], nil
}

// String returns the string that the value is.
func (v Value) String() (string, error) {
	raw, escaped, err := v.s.string()
	return text(raw, escaped), err
}

// Object calls visit for each member of the object that the value is. The name points
// into the data, unless it is written with escapes. It stops at the first error, visit's
// included.
func (v Value) Object(visit func(name []byte, value Value) error) error {
	s := v.s
	return s.object(func(name []byte) error {
		value := Value{s, s.pos}
		return value.end(visit(name, value))
	})
}

// Members is [Value.Object] with the bytes of the members' values, which are checked to be
// JSON before visit sees them.
func (v Value) Members(visit func(name, value []byte) error) error { return v.s.members(visit) }

// object steps over an object; each steps over the value of a member.
func (s *scanner) object(each func(name []byte) error) error {
	if s.next() != '{' {
		return s.fail("an object")
	}
	return s.elements('}', func() error {
		name, escaped, err := s.name()
		if err != nil {
			return err
		}
		if escaped {
			name = []byte(text(name, true))
		}
		return each(name)
	})
}

func (s *scanner) members(visit func(name, value []byte) error) error {
	return s.object(func(name []byte) error {
		start := s.pos
		if err := s.skip(); err != nil {
			return err
		}
		return visit(name, s.data[start:s.pos])
	})
}

// Array calls visit for each element of the array that the value is, as [Value.Object]
// does for members.
func (v Value) Array(visit func(Value) error) error {
	s := v.s
	return s.array(func() error {
		element := Value{s, s.pos}
		return element.end(visit(element))
	})
}

// array steps over an array; each steps over an element.
func (s *scanner) array(each func() error) error {
	if s.next() != '[' {
		return s.fail("an array")
	}
	return s.elements(']', each)
}

// Object calls visit for each member of the object in data, as [Value.Members] does.
func Object(data []byte, visit func(name, value []byte) error) error {
	s := scanner{data: data} // no Value, which would have to be on the heap
	return s.whole(func() error { return s.members(visit) })
}

// Member returns the value of a member of the object in data, or nil if there is
// none or data is no object.
func Member(data []byte, member string) (found []byte) {
	err := Object(data, func(name, value []byte) error {
		if string(name) == member {
			found = value
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}

// Array calls visit for each element of the array in data, as [Object] does for
// members.
func Array(data []byte, visit func(value []byte) error) error {
	s := scanner{data: data}
	return s.whole(func() error {
		return s.array(func() error {
			start := s.pos
			if err := s.skip(); err != nil {
				return err
			}
			return visit(data[start:s.pos])
		})
	})
}

// Valid returns what keeps data from being one JSON value, or nil.
func Valid(data []byte) error {
	s := scanner{data: data}
	return s.whole(s.skip)
}

// Strings yields where each string literal of data, names included, starts and
// ends. It stops where data is not JSON.
func Strings(data []byte) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		s := scanner{data: data}
		for ; s.pos < len(data); s.pos++ {
			if data[s.pos] != '"' {
				continue
			}
			start := s.pos
			if _, _, err := s.string(); err != nil || !yield(start, s.pos) {
				return
			}
			s.pos--
		}
	}
}

// ReplaceStrings returns JSON with some of its strings replaced, each of which ends somewhere.
func ReplaceStrings(raw []byte, replace func(s string, end int) (by string, ok bool)) (out []byte) {
	copied := 0 // what of raw is in out
	for start, end := range Strings(raw) {
		if s, err := String(raw[start:end]); err == nil {
			if by, ok := replace(s, end); ok {
				out = AppendString(append(out, raw[copied:start]...), by)
				copied = end
			}
		}
	}
	return append(out, raw[copied:]...)
}
