package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

const (
	maxFiles   = 20 // of the product, of one package
	maxMethods = 30 // of one type
)

// TestRooms keeps packages and types small enough to hold in a head.
func TestRooms(t *testing.T) {
	files, methods := map[string]int{}, map[string]int{}
	for name, source := range sources(t) {
		folder := path.Dir(name)
		files[folder]++
		parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range parsed.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Recv != nil && !onlyOn(name, "windows", "darwin", "other") {
				methods[folder+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
	}
	for folder, n := range files {
		if n > maxFiles {
			t.Errorf("%s has %d files; at most %d: merge what is one idea, or make a package of a part that has a name of its own", folder, n, maxFiles)
		}
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods; at most %d: make a type of a part that has a state of its own", name, n, maxMethods)
		}
	}
}

// onlyOn reports whether a file is for one of the systems only, which have methods of the same names.
func onlyOn(name string, systems ...string) bool {
	for _, system := range systems {
		if strings.HasSuffix(name, "_"+system+".go") {
			return true
		}
	}
	return false
}

// receiver returns the name of the type of a method.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
