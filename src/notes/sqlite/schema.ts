/** See NoteState. The text is bytes: libsql ends a text at its first NUL, and robots.txt files have such things. */
export const BOARD_MIGRATIONS = [
  `
  CREATE TABLE notes (
    key TEXT PRIMARY KEY, text BLOB, posted_at REAL NOT NULL, posted_by TEXT NOT NULL, until REAL NOT NULL, holder TEXT NOT NULL,
    held_until REAL NOT NULL, gone_at REAL NOT NULL
  );
  CREATE INDEX board_gone ON notes (gone_at);
  `,
] as const
