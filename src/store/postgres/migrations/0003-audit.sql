-- What people did by hand, newest last; the oldest go.

CREATE TABLE shoal.audit (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      timestamptz NOT NULL,
  by      text NOT NULL,
  action  text NOT NULL,
  target  text NOT NULL,
  details jsonb NOT NULL,
  result  text NOT NULL
);
