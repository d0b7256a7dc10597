package call

import (
	"fmt"
	"testing"

	"github.com/toolserver/toolserver/domain"
)

// catalogOf returns a registry with a source of n tools besides 24 others, and
// the source with those tools.
func catalogOf(b *testing.B, n int) (*domain.Registry, *changing, []domain.Tool) {
	var own, toys []domain.Tool
	for i := range 24 {
		own = append(own, tool(fmt.Sprintf("own_%d", i), fine))
	}
	for i := range n {
		toys = append(toys, tool(fmt.Sprintf("toy_%d", i), fine))
	}
	r, err := domain.NewRegistry(own...)
	if err != nil {
		b.Fatal(err)
	}
	r.Configure(domain.Settings{Tools: map[string]domain.Override{"toy_3": {Enabled: new(false)}, "own_1": {Description: "Other."}}})
	source := &changing{name: "toys"}
	source.now(toys...)
	r.Register(source)
	return r, source, toys
}

// BenchmarkChange measures what the change of one tool of a source costs, and a
// reload that changes no item.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{24, 500, 5000} {
		r, source, toys := catalogOf(b, n)
		b.Run(fmt.Sprintf("one of %d tools", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				toys[7].Description = fmt.Sprintf("Version %d.", i)
				source.now(toys...)
			}
		})
		b.Run(fmt.Sprintf("settings with %d tools", n), func(b *testing.B) {
			b.ReportAllocs()
			settings := r.Catalog().Settings
			for b.Loop() {
				r.Configure(settings)
			}
		})
	}
}
