export function Audit() {
  return <h1>Audit log</h1>
}
