package emit

import "testing"

func TestRelative(t *testing.T) {
	for _, c := range []struct{ dir, file, want string }{
		{".", "a", "a"},
		{".", "a/b", "a/b"},
		{"a", "a/b", "b"},
		{"a", "b", "../b"},
		{"a/b", "a/c/d", "../c/d"},
		{"a/b/c", "d", "../../../d"},
		{"a", "ab/c", "../ab/c"},
		{"a/b", "a/b", "../b"},
	} {
		if got := Relative(c.dir, c.file); got != c.want {
			t.Errorf("from %s to %s: %s, want %s", c.dir, c.file, got, c.want)
		}
	}
}
