package anthropic

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// amounts rewrites the amounts of money in a report and adds them up.
//
// The API gives cents, as a decimal string or a number, in a member amount beside a member currency. It is replaced by
// amount_usd, dollars as a number with every digit: rounding each row would lose real money. What is not in dollars, or not a
// number, stays as it is and is not in the total; notes says so.
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
		e.example = httpcall.Clip(string(example), 60)
	}
}

// maxDepth is how deep amounts are looked for; a report nests them five deep.
const maxDepth = 32

// rewrite appends JSON to dst, with amounts replaced. Everything else keeps its order and its digits.
func (a *amounts) rewrite(dst, value []byte, depth int) ([]byte, error) {
	if depth > maxDepth || value[0] != '{' && value[0] != '[' {
		return append(dst, value...), nil
	}
	var usd []byte
	if value[0] == '{' {
		taken := rawjson.Member(value, "amount_usd") != nil
		usd = a.dollars(rawjson.Member(value, "amount"), rawjson.Member(value, "currency"), taken)
	}
	dst = append(dst, value[0])
	empty := len(dst)
	add := func(name, member []byte) (err error) {
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		if usd != nil && string(name) == "amount" {
			name, member = []byte("amount_usd"), usd
		}
		if value[0] == '{' {
			dst = append(rawjson.AppendString(dst, name), ':')
		}
		dst, err = a.rewrite(dst, member, depth+1)
		return err
	}
	if value[0] == '{' {
		err := rawjson.Object(value, add)
		return append(dst, '}'), err
	}
	err := rawjson.Array(value, func(element []byte) error { return add(nil, element) })
	return append(dst, ']'), err
}

// dollars returns the amount of an object in dollars, and adds it up. It is nil if there is none, or its place is taken.
func (a *amounts) dollars(amount, currency []byte, taken bool) []byte {
	if amount == nil || currency == nil {
		return nil
	}
	if code, err := rawjson.String(currency); err != nil || !strings.EqualFold(code, "USD") {
		a.foreign.add(currency)
		return nil
	}
	number := string(amount)
	if s, err := rawjson.String(amount); err == nil {
		number = s
	}
	usd := parseCents(number)
	if usd == nil || taken {
		a.unclear.add(amount)
		return nil
	}
	a.total.Add(&a.total, usd)
	return []byte(decimalText(usd, 0))
}

// decimalNumber is a number as JSON and its relatives write it. What has more digits, or is so large or small that it would
// take as many to write out, is no amount.
var decimalNumber = lazyregexp.New(`^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-3]?[0-9]{1,2})?$`)

const maxDigits = 400

// parseCents returns a number of cents in dollars, or nil if it is no number.
func parseCents(text string) *big.Rat {
	if len(text) > maxDigits || !decimalNumber().MatchString(text) {
		return nil
	}
	cents, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return cents.Quo(cents, big.NewRat(100, 1))
}

// decimalText writes a decimal fraction as a JSON number with all of its decimals, at least least.
func decimalText(n *big.Rat, least int) string {
	decimals, _ := n.FloatPrec()
	return n.FloatString(max(decimals, least))
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
