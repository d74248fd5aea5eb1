/* Ejecutar unas celdas y, antes, lo que necesitan de más arriba y el kernel aún no ha ejecutado. */
export class Runner {
  constructor(panel, runCells) {
    Object.assign(this, { panel, runCells, ran: new Set() });
    // Un kernel que no está ni libre ni ocupado ha olvidado lo ejecutado: se reinicia, se cae, es otro…
    this.forgets = (_, status) => ['idle', 'busy'].includes(status) || this.ran.clear();
    panel.sessionContext.statusChanged.connect(this.forgets);
  }

  stop() {
    if (!this.panel.isDisposed) this.panel.sessionContext.statusChanged.disconnect(this.forgets);
  }

  /** Ejecuta `mine` y, de `wanted`, lo que falta. Dice si ha ido bien y, si no, qué celda ha fallado. */
  async run(mine, wanted) {
    const errors = cell => cell.model.outputs.toJSON().filter(one => one.output_type === 'error');
    let due, well, failed;
    const attempt = async () => {
      due = wanted.filter(cell => mine.includes(cell) || !this.ran.has(cell));
      well = await this.awake()
        .then(() => this.runCells(due))
        .catch(() => false);
      failed = well ? null : due.find(cell => errors(cell).length);
    };
    await attempt();
    // Un kernel que se estaba reiniciando pierde lo que se le pide, o lo que ya sabía: otra vez, entero.
    const forgot = failed && due.length < wanted.length && errors(failed)[0].ename === 'NameError';
    if (!well && (forgot || !failed)) {
      this.ran.clear();
      await attempt();
    }
    if (well) for (const cell of due) this.ran.add(cell);
    return { well, failed };
  }

  /** Si alguien ha apagado el kernel, arranca otro igual: JupyterLab preguntaría cuál. */
  async awake() {
    const { sessionContext } = this.panel;
    await sessionContext.ready; // pedirlo mientras arranca el primero los deja a los dos a medias
    const { name } = sessionContext.kernelPreference;
    if (sessionContext.hasNoKernel) await sessionContext.changeKernel({ name });
  }
}
