SELECT log_receipt(@merchant_id, @amount)
