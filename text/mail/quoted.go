package mail

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// This file leaves out what replies quote. Programs mark it in HTML; in plain text it begins with > or below the header of
// what is quoted. What is not surely a quote stays, as do forwarded mails and what is written below a quote.

// Lines that stand for marks of HTML when it has become text.
const (
	quoteBegins = "\uE010"
	quoteEnds   = "\uE011"
	restQuoted  = "\uE012" // the rest, if it begins with a header
)

var (
	restMark  = lazyregexp.New(`(?i)(?:id|class)="?[^"]*(?:divrplyfwdmsg|reference-message)|style="?[^"]*border-top:\s*solid`)
	quoteMark = lazyregexp.New(`(?i)^<blockquote\b.*(?:class="?[^"]*quote|type="?cite|\bcite=|border-left:)|` +
		`^<div\b.*(?:class="?[^"]*(?:yahoo_quoted|zmail_extra)|name="?quote\b)`)
	fromField = lazyregexp.New(`(?i)^\*?(?:from|von|de|da|van|från|fra|lähettäjä|od|от|від|kimden|feladó|από|` +
		`发件人|寄件者|寄件人|差出人|보낸 ?사람|من|מאת)\*? ?[:：]`)
	subject = lazyregexp.New(`(?im)^[> *]*(?:subject|betreff|objet|asunto|oggetto|onderwerp|assunto|ämne|emne|aihe|temat|тема|` +
		`konu|tárgy|subiect|předmět|θέμα|主题|主旨|主題|件名|제목|الموضوع|נושא)\*? ?[:：]`)
	ruled       = lazyregexp.New(`^[-_=*]{3,}(?: ?\pL.*[-_=*]{3,})?$`)
	isOriginal  = lazyregexp.New(`(?i)origin|ursprüng|ursprung|oorspronk|oryginal|alkuper|исходн|原始|元の`)
	isForwarded = lazyregexp.New(`(?i)^\s*(?:fwd?|wg|tr|rv|enc|i|doorst|vl|vb|pd|tov|转发|轉寄|転送|пересл)\s*[:：]`)
	attributes  = lazyregexp.New(`^[^<]*\d.*\d[:.h]\d\d.*[:：]$|^[^<].*@.*[:：]$`) // a quote to somebody, with a time or an address
	blankLines  = lazyregexp.New(`\n\s*\n\s*\n`)
)

// markQuotes sets lines around the elements that programs make of what they quote.
func markQuotes(src string) string {
	z := html.NewTokenizer(strings.NewReader(strings.NewReplacer(quoteBegins, "", quoteEnds, "", restQuoted, "").Replace(src)))
	var b strings.Builder
	name, open := "", 0 // the element that is open, and how many of its name
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		raw := string(z.Raw())
		tag, _ := z.TagName()
		switch start := kind == html.StartTagToken; {
		case start && open == 0 && quoteMark().MatchString(raw):
			name, open, raw = string(tag), 1, "<p>"+quoteBegins+"</p>"+raw
		case start && open == 0 && restMark().MatchString(raw):
			raw = "<p>" + restQuoted + "</p>" + raw
		case start && string(tag) == name:
			open++
		case kind == html.EndTagToken && open > 0 && string(tag) == name:
			if open--; open == 0 {
				name, raw = "", raw+"<p>"+quoteEnds+"</p>"
			}
		}
		b.WriteString(raw)
	}
	return b.String()
}

// header reports whether lines begin with the header of a mail.
func header(lines []string) bool {
	for i, line := range lines {
		if line = strings.Trim(line, "> \t"); i < 4 && (line == "" || ruled().MatchString(line)) {
			continue
		}
		return fromField().MatchString(line) && subject().MatchString(strings.Join(lines[i:min(i+8, len(lines))], "\n"))
	}
	return false
}

// quotesRest reports whether all lines from one on are quoted: below a mark, the rule of an original, or the header of one.
func quotesRest(lines []string, i int) bool {
	line, before := strings.TrimSpace(lines[i]), ""
	if line == "" {
		return false
	}
	if line == restQuoted || ruled().MatchString(line) && isOriginal().MatchString(line) {
		return header(lines[i+1:])
	}
	if !fromField().MatchString(line) || !header(lines[i:]) {
		return false
	}
	for j := i; j > max(0, i-4) && before == ""; j-- {
		before = strings.TrimSpace(lines[j-1])
	}
	return !strings.HasSuffix(before, ":") && (!ruled().MatchString(before) || strings.Trim(before, "-_=*") == "") // else it is forwarded
}

// surveyed returns the lines of a text, quotes after >, and those of which all are quoted.
func surveyed(text string) (lines, rest []string) {
	for _, mark := range []string{quoteBegins, quoteEnds, restQuoted} {
		text = strings.ReplaceAll(text, mark, "\n"+mark+"\n")
	}
	all, in := strings.Split(text, "\n"), false
	for i, line := range all {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == quoteBegins || trimmed == quoteEnds:
			in = trimmed == quoteBegins
		case !in && quotesRest(all, i):
			return lines, all[i:]
		case in && trimmed != "":
			lines = append(lines, "> "+trimmed)
		case trimmed != restQuoted:
			lines = append(lines, line)
		}
	}
	return lines, nil
}

func isQuoted(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), ">") }

// attribution returns where the line begins that says whose quote begins after lines; their end if there is none.
func attribution(lines []string) int {
	end := len(lines)
	for end > 0 && strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	for from := end - 1; from >= max(0, end-3); from-- { // it may be folded
		if attributes().MatchString(strings.TrimSpace(strings.Join(lines[from:end], " "))) {
			return from
		}
	}
	return len(lines)
}

// What stays of a long quote that something is written below, and what is not worth leaving out.
const contextLines = 3

const leftOut = "[quoted text left out: "

// Written returns what a text says without what it quotes, and how many characters that has: 0 if nothing else is in it.
func Written(text string) (string, int) {
	lines, rest := surveyed(text)
	var out []string
	left := 0
	leave := func(some []string) {
		n := utf8.RuneCountInString(strings.TrimSpace(strings.Join(some, "\n")))
		out, left = append(out, fmt.Sprintf("%s%d characters]", leftOut, n)), left+n
	}
	for i := 0; i < len(lines); {
		if !isQuoted(lines[i]) {
			out = append(out, lines[i])
			i++
			continue
		}
		end, next := i, i
		for ; next < len(lines) && (isQuoted(lines[next]) || strings.TrimSpace(lines[next]) == ""); next++ {
			if isQuoted(lines[next]) {
				end = next + 1
			}
		}
		quote, answered := lines[i:end], next < len(lines) && strings.TrimSpace(lines[next]) != "--"
		context := quote[max(0, len(quote)-contextLines):]
		switch {
		case header(quote) || answered && len(quote) <= 2*contextLines: // forwarded, or short
			out = append(out, quote...)
		case answered:
			leave(quote[:len(quote)-len(context)])
			out = append(out, context...)
		default:
			from := attribution(out)
			said := slices.Concat(out[from:], quote)
			out = out[:from]
			leave(said)
		}
		i = end
	}
	if rest != nil {
		leave(rest)
	}
	if left == 0 || !slices.ContainsFunc(out, func(s string) bool { return strings.TrimSpace(s) != "" && !strings.HasPrefix(s, leftOut) }) {
		return text, 0
	}
	return strings.TrimSpace(blankLines().ReplaceAllString(strings.Join(out, "\n"), "\n\n")), left
}
