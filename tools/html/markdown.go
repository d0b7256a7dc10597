package html

import (
	"fmt"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	tables "github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
)

// Markdown converts a document or a fragment to CommonMark with pipe tables. Relative links and images are resolved as in [Text];
// with the style None, links are their text. What Text leaves out is left out here too, but images are kept.
//
// Tables for layout, tables within tables and those too ragged for a grid become paragraphs. Lists and quotes in lists and quotes
// more than a dozen deep stand on the same level: indenting them costs the square of their depth.
//
// The error is for a document that the converter fails on; Text has none.
func Markdown(src string, o Options) (md string, err error) {
	defer func() {
		if p := recover(); p != nil {
			md, err = "", fmt.Errorf("the document cannot be converted to Markdown: %v", p)
		}
	}()
	doc, err := Parse(src)
	if err != nil {
		return "", err
	}
	o.Base = Base(src, o.Base)
	p := preparation{links: newLinks(src, o)}
	p.prepare(doc.Nodes[0])
	escape := converter.WithEscapeMode(converter.EscapeModeSmart)
	if p.brackets > maxBrackets {
		escape = converter.WithEscapeMode(converter.EscapeModeDisabled)
	}
	c := converter.NewConverter(escape, converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(
			commonmark.WithListEndComment(false),
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
		),
		strikethrough.NewStrikethroughPlugin(),
		// Cells are not padded: one long cell would be as many spaces in every row.
		tables.NewTablePlugin(
			tables.WithCellPaddingBehavior(tables.CellPaddingBehaviorMinimal),
			tables.WithNewlineBehavior(tables.NewlineBehaviorPreserve),
			tables.WithPresentationTables(true),
			tables.WithHeaderPromotion(true),
		),
	))
	out, err := c.ConvertNode(doc.Nodes[0])
	if err != nil {
		return "", fmt.Errorf("the document cannot be converted to Markdown: %w", err)
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(out)), "\uFFFD"), nil
}
