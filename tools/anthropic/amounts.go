package anthropic

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"toolserver/rawjson"
)

// amounts rewrites the amounts of money in a report and adds them up.
//
// The API gives cents, as a decimal string or a number, in a member amount beside
// a member currency. In its place comes amount_usd, dollars as a number, with
// every digit: rounding a row loses real money when there are a thousand rows of
// a fraction of a cent. What is not in dollars, or not a number, stays as it is
// and is not in the total; notes says so.
type amounts struct {
	total   big.Rat
	foreign excluded // amounts in other currencies
	unclear excluded // amounts that cannot be read
}

// excluded counts amounts that are not in the total.
type excluded struct {
	count   int
	example string
}

func (e *excluded) add(example []byte) {
	if e.count++; e.count == 1 {
		e.example = cut(string(example), 60)
	}
}

// maxDepth is how deep amounts are looked for; a report nests them five deep.
const maxDepth = 32

// rewrite appends JSON to dst, with amounts replaced. Everything else keeps its
// order and its digits.
func (a *amounts) rewrite(dst, value []byte, depth int) ([]byte, error) {
	if depth > maxDepth || len(value) == 0 {
		return append(dst, value...), nil
	}
	switch value[0] {
	case '{':
		return a.object(dst, value, depth)
	case '[':
		return a.array(dst, value, depth)
	}
	return append(dst, value...), nil
}

func (a *amounts) array(dst, value []byte, depth int) ([]byte, error) {
	dst = append(dst, '[')
	empty := len(dst)
	err := rawjson.Array(value, func(element []byte) (err error) {
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		dst, err = a.rewrite(dst, element, depth+1)
		return err
	})
	return append(dst, ']'), err
}

func (a *amounts) object(dst, value []byte, depth int) ([]byte, error) {
	members, err := membersOf(value)
	if err != nil {
		return dst, err
	}
	dollars, replace := a.dollars(members)
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		if replace && m.name == "amount" {
			dst = append(append(dst, `"amount_usd":`...), dollars...)
			continue
		}
		dst = append(rawjson.AppendString(dst, m.name), ':')
		if dst, err = a.rewrite(dst, m.value, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// dollars returns the amount of an object that has one, and adds it up.
func (a *amounts) dollars(members []member) (text string, ok bool) {
	amount, currency, found := amountOf(members)
	if !found {
		return "", false
	}
	if code, err := rawjson.String(currency); err != nil || !strings.EqualFold(code, "USD") {
		a.foreign.add(currency)
		return "", false
	}
	number := string(amount)
	if s, err := rawjson.String(amount); err == nil {
		number = s
	}
	usd := parseCents(number)
	if usd == nil || slices.ContainsFunc(members, func(m member) bool { return m.name == "amount_usd" }) {
		a.unclear.add(amount)
		return "", false
	}
	a.total.Add(&a.total, usd)
	return decimalText(usd, 0), true
}

// decimalNumber is a number as JSON and its relatives write it. What has more
// digits, or is so large or small that it would take as many to write out, is no
// amount.
var decimalNumber = regexp.MustCompile(`^[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-3]?[0-9]{1,2})?$`)

// parseCents returns a number of cents in dollars, or nil if it is no number.
func parseCents(text string) *big.Rat {
	if !decimalNumber.MatchString(text) {
		return nil
	}
	cents, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return cents.Quo(cents, big.NewRat(100, 1))
}

// decimalText writes a decimal fraction as a JSON number with all of its decimals,
// at least least.
func decimalText(n *big.Rat, least int) string {
	decimals, _ := n.FloatPrec()
	return n.FloatString(max(decimals, least))
}

// amountOf returns the values of the members amount and currency. An object that
// has one of them twice is no amount.
func amountOf(members []member) (amount, currency []byte, ok bool) {
	seen := 0
	for _, m := range members {
		switch m.name {
		case "amount":
			amount = m.value
			seen++
		case "currency":
			currency = m.value
			seen++
		}
	}
	return amount, currency, amount != nil && currency != nil && seen == 2
}

// notes says what is not in the total.
func (a *amounts) notes() (list []string) {
	const untouched = "are as the API gave them and not in total_usd"
	if e := a.foreign; e.count > 0 {
		list = append(list, fmt.Sprintf("amounts in another currency than USD (%d, such as %s) "+untouched, e.count, e.example))
	}
	if e := a.unclear; e.count > 0 {
		list = append(list, fmt.Sprintf("amounts that are not a number (%d, such as %s) "+untouched, e.count, e.example))
	}
	return list
}

// member is a member of a JSON object, its value still JSON.
type member struct {
	name  string
	value []byte
}

// membersOf returns the members of a JSON object in their order.
func membersOf(object []byte) (list []member, err error) {
	err = rawjson.Object(object, func(name, value []byte) error {
		list = append(list, member{string(name), value})
		return nil
	})
	return list, err
}
