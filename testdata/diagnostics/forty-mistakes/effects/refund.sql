-- größer
INSERT INTO refund (id, amount) VALUES (@order_id, @amonut)
