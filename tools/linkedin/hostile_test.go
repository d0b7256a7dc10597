package linkedin

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile returns pages of about size bytes that are made to take long.
func hostile(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	return map[string]string{
		"cards":          fill(`<a class=job-search-card>x`),
		"cards in cards": fill(`<div class=job-search-card><div class=job-search-card>x</div></div>`),
		"items":          fill(`<li>x`),
		"nested items":   strings.Repeat(`<ul><li>`, 120) + fill(`<li><a href=/jobs/view/1>`),
		"empty titles":   strings.Repeat(`<div class=topcard__title>`, 400) + fill(`<b></b>`),
		"banners":        strings.Repeat(`<div class=description__text>`, 400) + fill(`<i class=closed-job></i>`),
		"criteria":       fill(`<p class=description__job-criteria-item><b class=description__job-criteria-subheader>x`),
		"places":         `<script type="application/ld+json">{"@type":"JobPosting","jobLocation":[` + fill(`{"address":{"addressCountry":"x"}},`) + `{}]}</script>`,
		"lists of lists": `<script type="application/ld+json">` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `</script>`,
		"formatting":     strings.Repeat(`<b><i><u><s><tt><em>`, 30) + fill(`<p>`),
	}
}

// BenchmarkHostile shows that none of them takes long.
func BenchmarkHostile(b *testing.B) {
	s := publicSite()
	for name, body := range hostile(maxBody - 10_000) {
		b.Run("cards/"+name, func(b *testing.B) {
			for b.Loop() {
				s.cards(body)
			}
		})
		b.Run("posting/"+name, func(b *testing.B) {
			for b.Loop() {
				s.posting(body)
			}
		})
	}
}

// TestHostile returns from all of them, with no more than a page has.
func TestHostile(t *testing.T) {
	s := publicSite()
	for name, body := range hostile(maxBody / 50) {
		if jobs, received, _ := s.cards(body); len(jobs) > maxCards || received > maxCards {
			t.Errorf("%s: %d jobs of %d cards", name, len(jobs), received)
		}
		if p, _ := s.posting(body); len(p.labels) > maxItems || utf8.RuneCountInString(p.Location) > maxLine {
			t.Errorf("%s: %d criteria, location of %d bytes", name, len(p.labels), len(p.Location))
		}
	}
}
