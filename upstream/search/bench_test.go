package search

import (
	"runtime"
	"testing"
)

func BenchmarkNew(b *testing.B) {
	tools := readTools(b, "testdata/tools.json")
	table()
	b.ReportAllocs()
	for b.Loop() {
		New(tools)
	}
}

func BenchmarkSearch(b *testing.B) {
	tools := readTools(b, "testdata/tools.json")
	ix := New(tools)
	for name, file := range map[string]string{"written": "testdata/queries.json", "hard": "testdata/paraphrases.json"} {
		var questions []question
		readJSON(b, file, &questions)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				ix.Search(questions[i%len(questions)].Query, Options{})
			}
		})
	}
	b.Run("some kept", func(b *testing.B) {
		for b.Loop() {
			ix.Search("which alerts are firing in grafana", Options{Keep: func(i int) bool { return i%3 > 0 }})
		}
	})
	b.Run("nothing known", func(b *testing.B) {
		for b.Loop() {
			ix.Search("xqzvw kfjwpq bnmzkw plgfrt wrtzpl mnbvcx qwrtzp lkjhgf yxcvbn poiuzt", Options{})
		}
	})
}

// BenchmarkSize reports what an index and the table keep in memory.
func BenchmarkSize(b *testing.B) {
	tools := readTools(b, "testdata/tools.json")
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1024
	}
	before := heap()
	table()
	lexicon := heap()
	ix := New(tools)
	after := heap()
	runtime.KeepAlive(ix)
	for b.Loop() {
	}
	b.ReportMetric(lexicon-before, "table-KiB")
	b.ReportMetric(after-lexicon, "index-KiB")
}
