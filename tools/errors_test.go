package tools_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
)

const errorsDoc = "../docs/errors.md"

// documented returns the error types in the tables of docs/errors.md, and the
// text.
func documented(t *testing.T) (types map[string]bool, text string) {
	t.Helper()
	b, err := os.ReadFile(errorsDoc)
	if err != nil {
		t.Fatal(err)
	}
	types = map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^(?:\\| -[0-9]+ )?\\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(b), -1) {
		if types[m[1]] {
			t.Errorf("%s lists %s twice", errorsDoc, m[1])
		}
		types[m[1]] = true
	}
	return types, string(b)
}

// TestErrorTypesDocumented looks for the error types that failures are made
// with in the source, since a caller decides on them, and checks that each is
// in the vocabulary.
func TestErrorTypesDocumented(t *testing.T) {
	types, _ := documented(t)
	found := map[string]bool{}
	for _, dir := range []string{"../domain", "."} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			used, err := failureTypes(path)
			for errorType, line := range used {
				found[errorType] = true
				if !types[errorType] {
					t.Errorf("%s:%d: error type %q is not in %s", path, line, errorType, errorsDoc)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, known := range []string{"busy", "unknown_id", "io_error"} {
		if !found[known] {
			t.Errorf("did not find %s in the source, of %v", known, found)
		}
	}
}

// failureTypes returns the literal error types of the calls of Failure in a
// file, and their lines.
func failureTypes(path string) (map[string]int, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	types := map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.SelectorExpr:
			ok = f.Sel.Name == "Failure"
		case *ast.Ident:
			ok = f.Name == "Failure" || f.Name == "failure" // of packages that put seeds' words before it
		default:
			ok = false
		}
		literal, isLiteral := call.Args[0].(*ast.BasicLit)
		if ok && isLiteral && literal.Kind == token.STRING {
			if s, err := strconv.Unquote(literal.Value); err == nil {
				types[s] = files.Position(literal.Pos()).Line
			}
		}
		return true
	})
	return types, nil
}

func TestCodesDocumented(t *testing.T) {
	_, text := documented(t)
	for _, code := range []domain.Code{
		domain.CodeToolNotFound, domain.CodeToolDisabled, domain.CodeExecutionFailed,
		domain.CodeTimeout, domain.CodeBusy, domain.CodeRateLimited, domain.CodeInvalidParams, domain.CodeInternal,
	} {
		if row := fmt.Sprintf("\n| %d | `%s` |", code, code.Type()); !strings.Contains(text, row) {
			t.Errorf("%s has no row %q", errorsDoc, strings.TrimSpace(row))
		}
	}
}
