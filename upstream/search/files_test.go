package search

import (
	"fmt"
	"strings"
	"testing"
)

func TestForFiles(t *testing.T) {
	names := []string{"pdf_reader", "office__read_pdf", "docs_get_document", "vision_describe", "maps_geocode", "run_code", "csv_load",
		"database_query", "sheets_read_spreadsheet", "zip__extract", "echo", "OCR__scan", "page_extract_text", "markdownify"}
	for _, test := range []struct{ files, want string }{
		{"report.pdf", "pdf_reader office__read_pdf docs_get_document page_extract_text"},
		{"/home/me/REPORT.PDF", "pdf_reader office__read_pdf docs_get_document page_extract_text"},
		{`C:\scans\a.b\photo.JPG`, "vision_describe OCR__scan"},
		{"photo.gif", "vision_describe"},     // nobody scans text in a GIF
		{"main.py", "run_code maps_geocode"}, // a word of the name first, a part of one after
		{"data.csv", "csv_load sheets_read_spreadsheet database_query"},
		{"backup.tar.gz", "zip__extract page_extract_text"},
		{"README.md", "docs_get_document page_extract_text markdownify"},
		{"report.pdf data.csv", "pdf_reader office__read_pdf docs_get_document csv_load sheets_read_spreadsheet page_extract_text database_query"},
		{"movie.mp4", ""},
		{"Makefile", ""},
		{"pdf", ""},
		{".pdf", "pdf_reader office__read_pdf docs_get_document page_extract_text"},
		{"", ""},
	} {
		var got []string
		for _, s := range ForFiles(strings.Fields(test.files), names) {
			if len(s.Files) == 0 {
				t.Errorf("%s: %s is for no file", test.files, names[s.Tool])
			}
			got = append(got, names[s.Tool])
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s suggests %q, want %q", test.files, got, test.want)
		}
	}
	if n := len(filePatterns()); n != 26 {
		t.Errorf("%d extensions, want 26", n)
	}
	for extension, patterns := range filePatterns() {
		for _, pattern := range patterns {
			if len(ForFiles([]string{"a" + extension}, []string{"x" + strings.ToUpper(pattern) + "y"})) != 1 {
				t.Errorf("%s does not suggest %s", extension, pattern)
			}
		}
	}
}

func TestSearchForFiles(t *testing.T) {
	tools := []Tool{{Server: "office", Name: "read_word"}, {Server: "office", Name: "read_pdf"}, {Server: "office", Name: "read_excel"}}
	ix := New(tools)
	for _, test := range []struct{ query, files, want string }{
		{"read", "a.xlsx", "read_excel"},
		{"read", "a.docx", "read_word"},
		{"", "a.pdf", "read_pdf"},
		{"read the excel sheet", "a.pdf", "read_excel"},
		{"what does a.pdf say", "", "read_pdf"},
	} {
		hits := ix.Search(test.query, Options{Files: strings.Fields(test.files)}).Hits
		if len(hits) == 0 || tools[hits[0].Tool].Name != test.want {
			t.Errorf("%q for %s finds %v, want %s", test.query, test.files, fmt.Sprint(hits), test.want)
		}
	}
}
