# Lo que hace cada cuenta en su carpeta: «lee ARCHIVO BYTES» o «deja CARPETA NOMBRE», lo que llega por la entrada.
case "$1" in
lee)
    test -f "$2" || exit 0
    exec < "$2"
    # Cuándo ha cambiado, según el sistema: la otra fecha la pone quien quiere, con «touch».
    stat --format=%Z - && head --bytes="$3"
    ;;
deja)
    # Entero o nada: si no cabe, queda lo que había.
    mkdir -p "$2" && made=$(mktemp -p "$2") || exit 1
    cat > "$made" && mv -fT "$made" "$2/$3" || { rm -f "$made"; exit 1; }
    ;;
esac
