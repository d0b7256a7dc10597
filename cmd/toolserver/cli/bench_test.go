package cli

import (
	"testing"

	"go.uber.org/zap"

	"toolserver/config"
)

// BenchmarkBuild is what a start costs after the packages are initialised.
func BenchmarkBuild(b *testing.B) {
	g := &globals{}
	b.Chdir(b.TempDir())
	b.ReportAllocs()
	for b.Loop() {
		cfg, err := config.Load(config.Overrides{})
		if err != nil {
			b.Fatal(err)
		}
		a, err := g.build(cfg, zap.NewNop())
		if err != nil {
			b.Fatal(err)
		}
		a.close()
	}
}
