-- What everybody does with a note.
INSERT INTO noted (consumer, message_id, note, tag) VALUES (@consumer_name, @message_id, @note, @tag);
