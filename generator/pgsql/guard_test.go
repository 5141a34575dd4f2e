package pgsql

import (
	"fmt"
	"testing"
)

func TestScratch(t *testing.T) {
	for _, q := range []string{
		"-- hint\nUPDATE ledger SET balance = balance + @amount -- é\nWHERE merchant_id = @merchant_id OR x = @a.b::uuid -- tail",
		"WITH x AS (SELECT 1), d AS (DELETE FROM q WHERE a OR b RETURNING *) INSERT INTO t (a, b) SELECT * FROM d ON CONFLICT (a) WHERE p DO UPDATE SET a = @x RETURNING a;",
		"INSERT INTO t VALUES(@x, @x, lower(@y)) ON CONFLICT DO NOTHING",
		"SELECT f(@x)",
		"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND a OR b THEN UPDATE SET x = CASE WHEN @x THEN 1 END WHEN NOT MATCHED THEN INSERT VALUES (1)",
		"INSERT INTO t SELECT count(*) FROM x",
		"DELETE FROM t USING u",
		"UPDATE t SET a = <@x", "NOTIFY x", "UPDATE t SET a = 1; SELECT 2", "SELECT 'é', FROM x",
	} {
		s, ps := Parse(q)
		if ps != nil {
			fmt.Println(ps)
			continue
		}
		g, err := s.Guard(Inbox{Table: "inbox", MessageIDType: "text", DetectReuse: true}, "c.M", s.DefaultExpect(), 17)
		fmt.Println(g, err, s.Parameters())
		fmt.Println("==")
	}
}
func BenchmarkGuard(b *testing.B) {
	for b.Loop() {
		s, _ := Parse("UPDATE ledger SET balance = balance + @amount\nWHERE merchant_id = @merchant_id")
		_, err := s.Guard(Inbox{Table: "inbox", MessageIDType: "text", DetectReuse: true}, "c.M", s.DefaultExpect(), 17)
		if err != nil {
			b.Fatal(err)
		}
	}
}
