package html

// openList begins a list: set apart on the outside, on the lines of the item within another.
func (r *renderer) openList() {
	if r.level == 0 {
		r.breakLines(2)
	} else {
		r.breakLines(1)
	}
	r.level++
	r.listed = false
}

func (r *renderer) closeList() {
	r.item, r.listed, r.loose = false, true, false
	if r.level > r.outerLevel() {
		r.level--
	}
	if r.level > 0 {
		r.lines, r.due = 1, true
	} else {
		r.breakLines(2)
	}
}

// openItem begins an item. There is no blank line between it and the one before, whatever that ends in.
func (r *renderer) openItem() {
	r.closeAnchor()
	if r.level == 0 {
		r.level, r.loose = 1, true
	}
	if r.listed {
		r.lines = 0
	}
	r.breakLines(1)
	r.item, r.listed = true, true
}

func (r *renderer) closeItem() {
	if r.loose {
		r.level, r.loose = r.outerLevel(), false
	}
	r.item = false
	r.lines, r.due = 1, true
}

func (r *renderer) startTable() {
	r.closeAnchor()
	// The attributes are read first: they belong to the token.
	role, _ := r.attr("role")
	if len(r.tables) > 0 && !r.row.open { // not in a cell: browsers end the table before
		r.endTable()
	}
	state := r.openTable()
	state.plain = role == "presentation" || role == "none"
	r.tables = append(r.tables, state)
}

func (r *renderer) endTable() {
	last := len(r.tables) - 1
	state := r.tables[last]
	r.tables = r.tables[:last]
	r.closeTable(state)
}

func (r *renderer) startCell() {
	r.closeAnchor()
	r.restoreLevel()
	first := !r.row.open
	if first {
		r.openRow(r.plain())
	} else {
		first = !r.row.celled
	}
	r.openCell(first)
}

// plain reports whether the table says it is there for layout.
func (r *renderer) plain() bool {
	return len(r.tables) > 0 && r.tables[len(r.tables)-1].plain
}

// outerLevel is how deep in lists the table is that is open.
func (r *renderer) outerLevel() int {
	if len(r.tables) == 0 {
		return 0
	}
	return r.tables[len(r.tables)-1].level
}

// restoreLevel ends the lists and verbatim elements in a cell that were not closed.
func (r *renderer) restoreLevel() {
	if last := len(r.tables) - 1; last >= 0 {
		r.level, r.verbatim = r.tables[last].level, r.tables[last].pre
	}
}
